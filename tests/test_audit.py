"""The audit must ring where the mask carries the answer by construction, and be silent where it cannot."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from lspin import LSPINClassifier, LSPINCox, audit
from lspin.audit import _make_trees, _Question, _word, audit_leakage, draw_donors
from lspin.metrics import summarise_gates
from lspin.survival import harrell_concordance, make_survival

N = 300


class Selector:
    """A model made by hand: which columns each row shows, and what is predicted."""

    def __init__(self, choose, answer, classes=None):
        self._choose, self._answer = choose, answer
        if classes is not None:
            self.classes_ = classes

    def selected(self, X):
        return self._choose(np.asarray(X))

    def predict(self, X):
        return self._answer(np.asarray(X))


def show(*columns):
    """The mask whose rows show the given columns, each where its condition holds."""
    return np.column_stack([np.broadcast_to(column, len(columns[0])) for column in columns]).astype(bool)


def sign(X):
    """The last column decides the answer, and is never shown."""
    return X[:, 3] > 0


def encode_in_mask(X):
    return show(sign(X), ~sign(X), np.zeros(len(X)), np.zeros(len(X)))


def show_the_answer(X):
    return show(np.zeros(len(X)), np.zeros(len(X)), np.zeros(len(X)), np.ones(len(X)))


def show_by_group(X):
    """Column 0 decides which of the next two matters; the mask follows the group, and the group is shown."""
    return show(np.ones(len(X)), X[:, 0] > 0, X[:, 0] <= 0, np.zeros(len(X)))


def answer_by_group(X):
    return np.where(X[:, 0] > 0, X[:, 1], X[:, 2])


X = np.random.default_rng(1).normal(size=(N, 4))


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Fewer copies of each row and larger steps, which these clear cases can do with."""
    monkeypatch.setattr(audit, "MOST_COPIES", 3)
    for kind in ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"):
        monkeypatch.setattr(audit, kind, partial(getattr(audit, kind), max_iter=25, learning_rate=0.3))


LABELS = np.array([False, True])


def test_a_mask_that_encodes_the_label_in_noise_rings():
    found = audit_leakage(Selector(encode_in_mask, sign, LABELS), X, sign(X))
    assert found.leaks
    assert (found.own, found.mask) == (1.0, 1.0)
    assert found.evaluator < 0.6  # the values are noise
    assert found.mask_gain > 0.8
    assert found.verdict.startswith("The mask carries part of the answer")
    assert f"{found.evaluator:.3f} from the selected values" in found.verdict


def test_a_mask_that_encodes_a_response_in_noise_rings():
    found = audit_leakage(Selector(encode_in_mask, lambda X: sign(X) * 2.0), X, sign(X) + 0.1 * X[:, 2])
    assert found.leaks
    assert found.evaluator < 0.1 < 0.9 < found.mask


class RiskSelector(Selector):
    """The same for times: what is predicted is a risk."""

    def predict_survival_function(self, X):
        raise NotImplementedError


def test_a_mask_that_encodes_the_risk_in_noise_rings():
    rng = np.random.default_rng(2)
    y = make_survival(rng.exponential(np.exp(-3.0 * sign(X))), rng.random(N) < 0.8)
    found = audit_leakage(RiskSelector(encode_in_mask, lambda X: 1.0 * sign(X)), X, y)
    assert found.leaks
    assert found.own == pytest.approx(harrell_concordance(y, risk=sign(X)).c_index)
    assert found.mask == pytest.approx(found.own, abs=0.05)  # the mask says who is at risk
    assert abs(found.evaluator - 0.5) < 0.1  # the values are noise
    assert found.chance == 0.5
    assert "concordance" in found.verdict
    shown = audit_leakage(RiskSelector(show_the_answer, lambda X: X[:, 3]), X, y)
    assert not shown.leaks
    assert shown.evaluator > 0.6


def test_own_survival_models_are_audited_with_exchanged_gates(table):
    rng = np.random.default_rng(0)
    y = make_survival(rng.exponential(np.exp(-table[1])), rng.random(len(table[1])) < 0.8)
    model = LSPINCox((), sparsity=0.01, weight_decay=0.0, max_epochs=3, random_state=0).fit(table[0], y)
    found = audit_leakage(model, table[0], y)
    assert found.own == pytest.approx(model.score(table[0], y))
    assert None not in (found.exchanged_within, found.exchanged_across)


@pytest.mark.parametrize("choose", [show_the_answer, lambda X: np.ones(X.shape, bool)])
def test_a_mask_that_is_the_same_for_all_rows_cannot_ring(choose):
    found = audit_leakage(Selector(choose, sign, LABELS), X, sign(X))
    assert not found.leaks
    assert found.evaluator > 0.95
    assert found.mask == found.chance
    assert found.settled
    assert (found.mask_gain, found.mask_gain_error) == (0.0, 0.0)
    assert found.verdict.startswith("The mask is the same for all rows")


@pytest.mark.parametrize(("n_rows", "reason"), [(40, "40 rows are too few"), (120, "a leak of up to")])
def test_few_rows_are_no_evidence(n_rows, reason):
    rows = X[:n_rows]
    noisy = sign(rows) ^ (np.random.default_rng(0).random(n_rows) < 0.4)  # the mask tells three of five times
    found = audit_leakage(Selector(encode_in_mask, sign, LABELS), rows, noisy)
    assert not found.leaks
    assert not found.settled
    assert found.verdict.startswith("Too little evidence for a verdict on the mask: ")
    assert reason in found.verdict


def test_the_few_telling_columns_of_very_many_are_found(monkeypatch):
    noise = np.random.default_rng(3).normal(size=(N, 60))
    wide = np.hstack([X, noise])

    def choose(table):
        return np.hstack([encode_in_mask(table), table[:, 4:] > 0])

    monkeypatch.setattr(audit, "MOST_COLUMNS", 8)
    found = audit_leakage(Selector(choose, sign, LABELS), wide, sign(X))
    assert found.leaks
    assert found.mask > 0.9
    shown = audit_leakage(Selector(lambda table: np.ones(table.shape, bool), sign, LABELS), wide, sign(X))
    assert shown.evaluator > 0.9
    assert not shown.leaks


def test_a_mask_that_tells_no_more_than_the_values_is_no_leak():
    def choose(X):
        return show(np.ones(len(X)), sign(X), ~sign(X), np.zeros(len(X)))

    marked = X.copy()
    marked[:, 0] += 20 * sign(X)  # shown in every row, and it tells the class as the mask does
    found = audit_leakage(Selector(choose, sign, LABELS), marked, sign(X))
    assert (found.evaluator, found.mask) == (1.0, 1.0)
    assert not found.leaks
    assert not found.settled  # nobody can say which of the two the model uses
    assert found.verdict.startswith(
        "Too little evidence for a verdict on the mask: the mask alone predicts as well"
    )


@pytest.mark.parametrize("kind", ["classes", "response"])
def test_a_mask_that_follows_a_shown_group_is_no_leak(kind):
    target = answer_by_group(X)
    target = target > 0 if kind == "classes" else target
    model = Selector(show_by_group, lambda X: target, LABELS if kind == "classes" else None)
    found = audit_leakage(model, X, target)
    assert not found.leaks
    assert found.evaluator > 0.7
    assert (found.exchanged_within, found.exchanged_across) == (None, None)


def test_names_of_classes_do_not_matter():
    model = Selector(show_by_group, lambda X: answer_by_group(X) > 0, LABELS)
    names = np.array(["no", "yes"])
    named = Selector(show_by_group, lambda X: names[(answer_by_group(X) > 0).astype(int)], names)
    y = answer_by_group(X) > 0
    assert audit_leakage(model, X, y) == audit_leakage(named, X, names[y.astype(int)])


def test_frames_and_sparse_tables_are_read_as_arrays_are():
    model = Selector(show_by_group, lambda X: answer_by_group(X) > 0, LABELS)
    y = answer_by_group(X) > 0
    expected = audit_leakage(model, X, y)
    assert audit_leakage(model, pd.DataFrame(X, columns=list("abcd")), y) == expected
    dense = Selector(lambda X: show_by_group(X.item().toarray()), lambda X: y, LABELS)
    assert audit_leakage(dense, sp.csr_array(X), y) == expected


def test_a_model_of_absent_zeros_is_audited():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    counts = rng.poisson(np.where((y == 1)[:, None] & (np.arange(20) < 3), 2.0, 0.2)).astype(float)
    model = LSPINClassifier(sparsity=0.005, max_epochs=30, random_state=0).fit(sp.csr_array(counts), y)
    found = audit_leakage(model, sp.csr_array(counts), y)
    assert found == audit_leakage(model, counts, y)
    assert found.own > 0.8
    assert summarise_gates(model.gates(sp.csr_array(counts))).union == model.selected(counts).any(axis=0).sum()


def test_categories_and_missing_values_are_read():
    y = sign(X)
    frame = pd.DataFrame({"kind": pd.Categorical(np.where(y, "a", "b")), "noise": X[:, 0]})
    frame.loc[::3, "noise"] = np.nan
    model = Selector(lambda X: np.ones(X.shape, bool), lambda X: y, LABELS)
    found = audit_leakage(model, frame, y)
    assert found.evaluator == 1.0
    assert found.mask == found.chance


def test_own_estimators_are_audited_with_exchanged_gates(classifier, regressor, table, labels):
    for model, y in ((classifier, labels), (regressor, table[1])):
        found = audit_leakage(model, table[0], y)
        assert found.own == model.score(table[0], y)
        assert found.exchanged_within < found.own
        assert found.exchanged_across < found.own


def test_own_gates_predict_as_the_model_does(classifier, regressor, table):
    for model in (classifier, regressor):
        expected = model.predict(table[0])
        np.testing.assert_array_equal(model.predict_with_gates(table[0], model.gates(table[0])), expected)


def test_shut_gates_predict_one_constant(regressor, table):
    predicted = regressor.predict_with_gates(table[0], np.zeros(table[0].shape))
    assert len(np.unique(predicted)) == 1


@pytest.mark.parametrize(
    ("gates", "message"),
    [(np.ones((96, 4)), r"\(96, 4\), but X has \(96, 5\)"), (np.full((96, 5), 2.0), "range from 2 to 2")],
)
def test_foreign_gates_that_do_not_fit_are_refused(regressor, table, gates, message):
    with pytest.raises(ValueError, match=message):
        regressor.predict_with_gates(table[0], gates)


@given(
    groups=st.lists(st.integers(0, 2), min_size=4, max_size=12).filter(lambda g: min(map(g.count, set(g))) > 1),
    seed=st.integers(0, 99),
)
def test_donors_are_other_rows_of_the_same_or_of_another_group(groups, seed):
    groups = np.array(groups)
    donors = draw_donors(groups, np.random.default_rng(seed), same=True)
    assert (groups[donors] == groups).all()
    assert (donors != np.arange(len(groups))).all()
    if len(set(groups.tolist())) > 1:
        assert (groups[draw_donors(groups, np.random.default_rng(seed), same=False)] != groups).all()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(N), "all 300 rows have the same y"),
        (np.arange(N) == 0, "class .*True.* has one row only"),
        (np.zeros(N - 1), r"X has 300 rows, but y has the shape \(299,\)"),
    ],
)
def test_targets_that_cannot_be_judged_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        audit_leakage(Selector(show_the_answer, sign, LABELS), X, y)


def test_a_model_that_selects_nothing_is_judged():
    found = audit_leakage(Selector(lambda X: np.zeros(X.shape, bool), sign, LABELS), X, sign(X))
    assert not found.leaks
    assert found.evaluator == found.mask == found.chance


def test_what_is_rounded_to_nothing_has_no_sign():
    scores = {"own": 0.8, "evaluator": 0.7, "mask": -0.0004, "chance": 0.0}
    told = _word(scores, 0.0004, 0.002, "R²", leaks=False, doubt="")
    assert "explains 0.0 ± 0.2 % of the target" in told
    assert "explains nothing of the target" in _word(scores, -0.034, 0.016, "R²", leaks=False, doubt="")
    assert "0.000 from the mask alone" in told
    assert "-0.0" not in told
    assert "explains nothing of the target" in _word(scores, -0.001, 0.002, "R²", leaks=False, doubt="")


def test_progress_is_shown_if_asked_for_and_changes_nothing(classifier, table, labels, speaking):
    quiet = audit_leakage(classifier, table[0], labels)
    assert speaking() == ""
    assert audit_leakage(classifier, table[0], labels, verbose=1) == quiet
    assert "lspin: 10 of 10 evaluators of the mask, 00:00 left" in speaking()


def test_many_classes_of_many_columns_get_fewer_rounds_of_longer_steps():
    question = _Question(None, np.zeros(0), np.zeros(0), np.arange(10), [], np.random.default_rng(0), None)
    few, many = (_make_trees(question, np.zeros((800, n_columns))) for n_columns in (20, 200))
    assert (few.max_iter, few.learning_rate) == (100, 0.1)
    assert (many.max_iter, many.learning_rate) == (25, 0.4)
