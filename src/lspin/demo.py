"""``python -m lspin.demo``: predictions for real patients, each with the few features behind it, and a report."""

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lspin import LSPINClassifier, report


def run() -> None:
    """Fit on scikit-learn's breast-cancer table, show what held-out patients get, and write ``report.html``."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    diagnosis = y.map({0: "malignant", 1: "benign"}).rename("diagnosis")
    X_train, X_test, y_train, y_test = train_test_split(X, diagnosis, test_size=0.3, stratify=y, random_state=0)
    print(
        f"Breast cancer: {len(X_train)} patients to learn from, {len(X_test)} held out, {X.shape[1]} features.\n"
    )
    model = LSPINClassifier(random_state=0, verbose=1).fit(X_train, y_train)
    show_scores(model, X_train, X_test, y_train, y_test)
    show_patients(model, X_test, y_test, n_patients=3)
    title = "Breast cancer: what each diagnosis rests on"
    path = report(model, X_train, y_train, eval_set=(X_test, y_test), title=title)
    print(f"\nThe whole story, every patient included, is in {path}: open it in a browser.")


def show_scores(
    model: LSPINClassifier, X_train: pd.DataFrame, X_test: pd.DataFrame, y_train: pd.Series, y_test: pd.Series
) -> None:
    """Held-out accuracy beside two familiar models, and how many features each needs for a patient."""
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X_train, y_train)
    forest = RandomForestClassifier(500, random_state=0).fit(X_train, y_train)
    n_selected = model.selected(X_test).sum(axis=1)
    few = f"{np.median(n_selected):.0f} (of 30; the middle half of the patients: " + " to ".join(
        f"{q:.0f}" for q in np.quantile(n_selected, [0.25, 0.75])
    )
    print(f"{'':22}{'held-out accuracy':>18}   features a patient needs")
    for name, other, needs in (
        ("lspin", model, few + ")"),
        ("logistic regression", linear, "30"),
        ("random forest", forest, "30"),
    ):
        print(f"{name:22}{other.score(X_test, y_test):>18.3f}   {needs}")


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
