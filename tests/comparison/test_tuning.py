"""Settings chosen on held-out rows, where the best ones are known."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split

import lspin
from lspin.comparison.contenders import Contender, list_contenders
from lspin.comparison.tuning import choose_settings
from lspin.targets import Response

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4))
Y = X[:, 0] + 0.1 * RNG.normal(size=80)


def make(seed, alpha):
    if alpha < 0:
        raise ValueError(f"alpha={alpha} is not allowed")
    return Ridge(alpha)


def test_the_setting_with_the_best_score_on_a_held_out_quarter_is_chosen():
    candidates = [{"alpha": alpha} for alpha in (-1.0, 1e4, 100.0, 1.0, 30.0)]
    learned, held_out = train_test_split(np.arange(80), test_size=0.25, random_state=3)
    by_hand = [
        Ridge(c["alpha"]).fit(X[learned], Y[learned]).score(X[held_out], Y[held_out]) for c in candidates[1:]
    ]
    assert int(np.argmax(by_hand)) == 2
    assert choose_settings(make, candidates, Response(), X, Y, seed=3) == {"alpha": 1.0}


def test_settings_that_a_table_does_not_allow_are_passed_over_unless_there_is_no_other():
    with pytest.raises(ValueError, match="alpha=-1 is not allowed"):
        choose_settings(make, [{"alpha": -1}], Response(), X, Y, seed=0)


@pytest.mark.parametrize("task", ["classify", "regress", "count", "survive"])
def test_every_rival_has_four_or_five_settings_or_chooses_itself(task):
    for name, contender in list_contenders(task).items():
        assert isinstance(contender, Contender)
        chooses_itself = name in ("lspin", "L1", "constant", "one curve") or "cross-validation" in contender.note
        assert chooses_itself if not contender.candidates else len(contender.candidates) in (4, 5)
        for settings in contender.candidates:
            assert callable(contender.make(0, **settings).fit)


def test_a_rival_is_judged_at_the_settings_it_chose_or_at_its_defaults():
    settings = {"methods": ["boosting"], "n_folds": 2}
    tuned, plain = (lspin.compare(X, Y, tunes=tunes, **settings).frame.loc["boosting"] for tunes in (True, False))
    assert tuned["note"] == "learning_rate and max_leaf_nodes chosen of 4 on held-out rows"
    assert plain["note"] == "as it comes"


def test_cox_regression_with_an_l1_penalty_is_among_the_survival_models():
    y = lspin.survival.make_survival(RNG.exponential(np.exp(-2 * X[:, 0])) + 0.01, RNG.random(80) < 0.8)
    board = lspin.compare(X, y, methods=["L1", "one curve"], n_folds=2)
    assert board.frame.loc["L1", "c_index"] > 0.75
    assert board.frame.loc["L1", "n_features"] <= 4
    assert board.failed == {}
