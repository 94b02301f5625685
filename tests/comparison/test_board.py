"""A leaderboard: its figures are those of scikit-learn's own cross-validation on the same folds."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

import lspin
from conftest import QUICK
from lspin import plots
from lspin.cli.commands import app
from lspin.comparison.board import find_task
from lspin.comparison.contenders import PENALTIES, OnNumbers, list_contenders
from lspin.fitting.ensemble import FitInterruptedWarning
from lspin.survival import make_survival

RNG = np.random.default_rng(0)
N = 60
X = pd.DataFrame(RNG.normal(size=(N, 3)), columns=["crp", "bmi", "noise"])
RESPONSE = 2 * X["crp"] - X["bmi"] + 0.3 * RNG.normal(size=N)
DIED = np.where(RESPONSE + RNG.normal(size=N) > 0, "died", "survived")
TIMES = make_survival(RNG.exponential(np.exp(-RESPONSE)).round(4) + 0.01, RNG.random(N) < 0.7)


def score_by_hand(model, y, **settings):
    folds = (StratifiedKFold if isinstance(y[0], str) else KFold)(4, shuffle=True, random_state=0)
    return cross_val_score(model, X, y, cv=folds, **settings)


def test_scores_are_those_of_cross_validation_on_the_same_folds():
    ridge = make_pipeline(StandardScaler(), RidgeCV(PENALTIES))
    board = lspin.compare(X, RESPONSE, methods=["ridge", "constant"], n_folds=4)
    by_hand = score_by_hand(ridge, RESPONSE.to_numpy())
    own = board.folds[board.folds["method"] == "ridge"]
    np.testing.assert_allclose(own["r2"], by_hand)
    row = board.frame.loc["ridge"]
    assert row["r2"] == pytest.approx(by_hand.mean())
    assert row["r2_lower"] < row["r2"] < row["r2_upper"] <= 1
    assert row["n_features"] == 3
    assert board.frame.index.tolist() == ["ridge", "constant"]
    assert (board.frame["seconds"] > 0).all()
    assert board.task == "regress"


def test_progress_is_shown_if_asked_for(speaking):
    lspin.compare(X, RESPONSE, methods=["constant"], n_folds=4)
    assert speaking() == ""
    lspin.compare(X, RESPONSE, methods=["constant", "ridge"], n_folds=4, verbose=1)
    assert "lspin: 8 of at most 8 fits, 00:00 left" in speaking()


class Interrupted(LinearRegression):
    """Ctrl-C is pressed in one of its fits."""

    n_fits = 0

    def fit(self, X, y):
        Interrupted.n_fits += 1
        if Interrupted.n_fits == 3:
            raise KeyboardInterrupt
        return super().fit(X, y)


def test_an_interrupt_leaves_the_folds_that_are_finished():
    extra = {"ours": Interrupted()}
    with pytest.warns(FitInterruptedWarning, match="^interrupted: kept the 2 of 4 folds that are finished$"):
        board = lspin.compare(X, RESPONSE, methods=["constant"], extra=extra, n_folds=4)
    by_hand = score_by_hand(LinearRegression(), RESPONSE)[:2]
    np.testing.assert_allclose(board.folds.loc[board.folds["method"] == "ours", "r2"], by_hand)
    assert board.frame.loc["ours", "r2"] == pytest.approx(by_hand.mean())
    assert 0 < board.frame.loc["ours", "calibration_error"] < 0.2
    assert f"Mean over 2 folds of {N // 2} rows" in board.how


def test_a_fit_that_is_cut_short_is_not_judged(press_after):
    press_after(3)
    extra = {"ours": lspin.LSPINRegressor(**QUICK, sparsity=0.01)}
    with pytest.raises(KeyboardInterrupt):
        lspin.compare(X, RESPONSE, methods=[], extra=extra, n_folds=4)


def test_a_given_estimator_is_judged_beside_the_others():
    board = lspin.compare(X, RESPONSE, methods=["constant"], extra={"plain": LinearRegression()}, n_folds=4)
    assert board.frame.loc["plain", "r2"] == pytest.approx(score_by_hand(LinearRegression(), RESPONSE).mean())
    assert board.frame.loc["constant", "n_features"] == 0


def test_classes_are_judged_by_accuracy_auc_log_loss_and_calibration_of_the_event():
    board = lspin.compare(X, DIED, methods=["L1", "constant"], n_folds=4)
    share = (DIED == "died").mean()
    constant = board.frame.loc["constant"]
    assert constant["accuracy"] == pytest.approx(max(share, 1 - share), abs=0.02)
    assert constant["auc"] == pytest.approx(0.5)
    assert constant["log_loss"] == pytest.approx(
        -(share * np.log(share) + (1 - share) * np.log(1 - share)), abs=0.01
    )
    assert board.frame.index[0] == "L1"
    assert board.frame.loc["L1", "auc"] > 0.8
    assert 0 <= board.frame.loc["L1", "calibration_error"] < 0.3


def test_survival_models_are_judged_with_one_curve_for_everyone():
    ours = lspin.LSPINCox(start="groups", random_state=0)
    board = lspin.compare(X, TIMES, methods=["one curve"], extra={"ours": ours}, n_folds=3)
    assert board.frame.loc["one curve", "c_index"] == pytest.approx(0.5)
    assert board.frame.loc["ours", "c_index"] > 0.7
    assert board.frame.loc["ours", "brier"] < board.frame.loc["one curve", "brier"]
    assert board.frame["calibration_error"].between(0, 1).all()


def test_ours_is_judged_and_drawn():
    ours = lspin.LSPINRegressor(start="groups", random_state=0)
    board = lspin.compare(X, RESPONSE, methods=["constant"], extra={"lspin": ours}, n_folds=2)
    assert board.frame.index[0] == "lspin"
    assert 1 <= board.frame.loc["lspin", "n_features"] <= 3
    ax = plots.leaderboard(board)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["lspin", "constant"]
    drawn = np.asarray(ax.collections[1].get_offsets())[:, 0]
    np.testing.assert_allclose(drawn, board.frame["r2"])
    with pytest.raises(ValueError, match="no metric 'auc'; there are r2, mae"):
        plots.leaderboard(board, metric="auc")
    described = json.loads(json.dumps(board.describe(), allow_nan=False))
    assert [row["name"] for row in described["contenders"]] == ["lspin", "constant"]
    assert described["contenders"][0]["scores"]["r2"][0] == pytest.approx(board.frame["r2"].iloc[0])


def test_workers_change_no_figure():
    settings = {"methods": ["ridge", "constant"], "n_folds": 2}
    one, two = (lspin.compare(X, RESPONSE, n_jobs=n_jobs, **settings).frame for n_jobs in (1, 2))
    pd.testing.assert_frame_equal(one.drop(columns="seconds"), two.drop(columns="seconds"))


def test_a_method_that_fails_is_named_and_the_others_go_on():
    class Broken(LinearRegression):
        def fit(self, X, y):
            raise ValueError("this one cannot")

    board = lspin.compare(X, RESPONSE, methods=["constant"], extra={"broken": Broken()}, n_folds=2)
    assert board.failed == {"broken": "this one cannot"}
    assert board.frame.index.tolist() == ["constant"]
    assert "broken failed: this one cannot" in str(board)


def test_familiar_models_read_categories_and_gaps():
    table = X.assign(sex=pd.Categorical(np.where(RNG.random(N) < 0.5, "f", "m")))
    table.loc[3, "crp"] = np.nan
    inputs = np.column_stack([table[["crp", "bmi", "noise"]], table["sex"] == "f", table["sex"] == "m"])
    by_hand = make_pipeline(SimpleImputer(), StandardScaler(), RidgeCV(PENALTIES)).fit(inputs, RESPONSE)
    model = OnNumbers(RidgeCV(PENALTIES), is_linear=True).fit(table, RESPONSE)
    np.testing.assert_allclose(model.predict(table), by_hand.predict(inputs))
    assert model.count_used(table) == 4
    trees = OnNumbers(RandomForestRegressor(5, random_state=0), is_linear=False).fit(table, RESPONSE)
    expected = RandomForestRegressor(5, random_state=0).fit(inputs, RESPONSE).predict(inputs)
    np.testing.assert_allclose(trees.predict(table), expected)


PAIR = (TIMES["time"], TIMES["event"])


@pytest.mark.parametrize(
    ("y", "task"), [(RESPONSE, "regress"), (DIED, "classify"), (TIMES, "survive"), (PAIR, "survive")]
)
def test_the_task_is_told_by_the_target(y, task):
    assert find_task(y) == task
    assert next(iter(list_contenders(task))) == "lspin"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"methods": ["lasso"]}, "there is no method 'lasso' to regress; there are lspin, STG"),
        ({"methods": "some"}, "methods must be 'all', 'familiar' or a list of names"),
        ({"task": "guess"}, "task must be one of classify"),
    ],
)
def test_what_cannot_be_compared_is_refused(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        lspin.compare(X, RESPONSE, **settings)
    with pytest.raises(ValueError, match="10 rows are too few"):
        lspin.compare(X[:10], RESPONSE[:10])


def test_the_command_line_shows_writes_and_draws_it(tmp_path):
    X.round(6).assign(outcome=DIED).to_csv(tmp_path / "table.csv", index=False)
    options = ["-t", "outcome", "--methods", "ridge, constant", "--folds", "3"]
    files = ["-o", str(tmp_path / "board.csv"), "--figure", str(tmp_path / "board.png")]
    result = CliRunner().invoke(app, ["compare", str(tmp_path / "table.csv"), *options, *files])
    assert result.exit_code == 0, result.stderr
    assert "the event is 'died'" in result.stderr
    assert "Comparing on 60 rows x 3 features in 3 folds." in result.stderr
    assert "area under the ROC curve" in result.stdout
    board = lspin.compare(X.round(6), DIED, methods=["ridge", "constant"], n_folds=3)
    written = pd.read_csv(tmp_path / "board.csv", index_col="method")
    np.testing.assert_allclose(written["auc"], board.frame["auc"], rtol=1e-5)
    assert (tmp_path / "board.png").read_bytes().startswith(b"\x89PNG")
    shown = CliRunner().invoke(app, ["compare", str(tmp_path / "table.csv"), *options, "--json", "-q"])
    assert [row["name"] for row in json.loads(shown.stdout)["contenders"]] == ["ridge", "constant"]


@pytest.mark.parametrize("task", ["classify", "regress", "count", "survive"])
def test_every_method_can_be_made_from_a_seed(task):
    for contender in list_contenders(task).values():
        assert callable(contender.make(0).fit)


def test_the_localized_lasso_predicts_new_rows():
    board = lspin.compare(X, RESPONSE, methods=["LocalizedLasso"], n_folds=2)
    assert board.failed == {}


def test_methods_may_be_written_in_small_letters():
    board = lspin.compare(X, RESPONSE, methods=["RIDGE", "l1"], n_folds=2, tunes=False)
    assert set(board.frame.index) == {"ridge", "L1"}
