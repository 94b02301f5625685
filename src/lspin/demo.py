"""``python -m lspin.demo``: predictions for real patients, each with the few features behind it, and a report."""

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from lspin import LSPINClassifier, compare, report

FAMILIAR = ("L1", "ridge", "forest")  # two logistic regressions and a random forest


def run() -> None:
    """Fit on scikit-learn's breast-cancer table, show what held-out patients get, and write ``report.html``."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    diagnosis = y.map({0: "malignant", 1: "benign"}).rename("diagnosis")
    X_train, X_test, y_train, y_test = train_test_split(X, diagnosis, test_size=0.3, stratify=y, random_state=0)
    print(
        f"Breast cancer: {len(X_train)} patients to learn from, {len(X_test)} held out, {X.shape[1]} features.\n"
    )
    model = LSPINClassifier(random_state=0, verbose=1).fit(X_train, y_train)
    n_selected = model.selected(X_test).sum(axis=1)
    print(f"A held-out patient's diagnosis rests on {np.median(n_selected):.0f} features (median).")
    show_patients(model, X_test, y_test, n_patients=3)
    print("\nBeside familiar models, on the same five folds of all patients:")
    board = compare(X, diagnosis, methods=("lspin", *FAMILIAR), tunes=False, verbose=1)
    print(board)
    title = "Breast cancer: what each diagnosis rests on"
    path = report(model, X_train, y_train, eval_set=(X_test, y_test), title=title, leaderboard=board)
    print(f"\nThe whole story, every patient included, is in {path}: open it in a browser.")


def show_patients(model: LSPINClassifier, X: pd.DataFrame, y: pd.Series, n_patients: int) -> None:
    """The features behind the predictions for a few patients, with what each adds to the log-odds."""
    # Patients about whom the model is least sure are the ones worth explaining.
    chosen = X.iloc[np.argsort(np.abs(model.decision_function(X)))[:n_patients]]
    probabilities, explanation = model.predict_proba(chosen), model.explain(chosen)
    reasons = explanation.to_frame()
    for row, patient in enumerate(chosen.index):
        likely = probabilities[row].argmax()
        print(
            f"\nPatient {patient}: {model.classes_[likely]} with probability {probabilities[row, likely]:.2f} "
            f"(was {y.loc[patient]})"
        )
        print(f"  {'log-odds without any feature':34}{explanation.baseline[0]:>23.2f}")
        own = reasons[explanation.rows == row]
        for reason in own.sort_values("contribution", key=abs, ascending=False).itertuples():
            print(f"  {reason.feature:24}= {reason.value:>8.4g}{reason.contribution:>23.2f}")
        print(f"  {f'log-odds of {model.pos_label_}':34}{explanation.scores[row, 0]:>23.2f}")


if __name__ == "__main__":
    run()
