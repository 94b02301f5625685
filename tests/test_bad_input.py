"""Bad input is an error that names what is wrong and leaves nothing fitted; odd but legal input gives numbers."""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from lspin import LSPINClassifier, LSPINRegressor

SMALL = {
    "hidden_layer_sizes": (4,),
    "gate_hidden_layer_sizes": (4,),
    "sparsity": 0.01,
    "max_epochs": 5,
    "random_state": 0,
}
KINDS = [LSPINClassifier, LSPINRegressor]
rng = np.random.default_rng(0)
X = rng.normal(size=(24, 3))
NAMES = ["age", "dose", "stage"]
LABELS = (X[:, 0] > 0).astype(int)
RESPONSE = 3 * X[:, 0] - X[:, 1]


def make(kind, **parameters):
    return kind(**{**SMALL, **parameters})


def target_for(kind):
    return LABELS if kind is LSPINClassifier else RESPONSE


def changed(array, place, value):
    """A copy as floats with one entry replaced."""
    copy = np.array(array, dtype=float)
    copy[place] = value
    return copy


def assert_not_fitted(model):
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def assert_finite(model, table):
    predictions, gates = model.predict(table), model.gates(table)
    assert np.isfinite(predictions).all()
    assert ((gates >= 0) & (gates <= 1)).all()
    if isinstance(model, LSPINClassifier):
        np.testing.assert_allclose(model.predict_proba(table).sum(axis=1), 1)


@pytest.fixture(scope="module")
def classifier():
    return make(LSPINClassifier).fit(pd.DataFrame(X, columns=NAMES), LABELS)


# Tables ------------------------------------------------------------------------------------------------------


def frame(**columns):
    return pd.DataFrame(dict(zip(NAMES, X.T, strict=True)) | columns)


BAD_TABLES = {
    "no rows": (X[:0], r"0 sample\(s\)"),
    "no rows in a frame": (pd.DataFrame(X[:0], columns=NAMES), r"0 sample\(s\)"),
    "no columns": (X[:, :0], r"0 feature\(s\)"),
    "no columns in a frame": (pd.DataFrame(index=range(24)), r"0 feature\(s\)"),
    "one dimension": (X[:, 0], "2D array, got 1D"),
    "three dimensions": (X[None], "dim 3"),
    "infinity": (changed(X, (5, 1), np.inf), r"infinity in column 1 \(row 5\)"),
    "infinity in a sparse table": (sp.csr_array(changed(X, (5, 1), -np.inf)), r"infinity in column 1 \(row 5\)"),
    "infinity in a frame": (frame(dose=changed(X[:, 1], 5, np.inf)), r"infinity in column 'dose' \(row 5\)"),
    "text": (frame(stage=["high", "low"] * 12), r"column 'stage' holds text \('high', 'low'\)"),
    "text in polars": (pl.DataFrame({"age": X[:, 0], "stage": ["high"] * 24}), "column 'stage' holds text"),
    "text in an array": (np.full((24, 3), "high"), "'high'"),
    "dates": (frame(stage=pd.date_range("2020-01-01", periods=24)), "column 'stage' is of type Datetime"),
    "a name twice": (pd.DataFrame(X, columns=["age", "dose", "age"]), "column name 'age' occurs 2 times"),
    "constant columns": (np.tile([1.0, 0.0, 1e30], (24, 1)), "all 3 columns are constant over the 2"),
    "constant sparse columns": (sp.csr_array(np.tile([1.0, 0.0, 2.0], (24, 1))), "all 3 columns are constant"),
    "nothing but gaps": (np.full((24, 3), np.nan), "all 3 columns are constant"),
    "fewer rows than the target": (X[:20], r"inconsistent numbers of samples: \[20, 24\]"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", BAD_TABLES)
def test_a_bad_table_is_refused_and_nothing_is_fitted(case, kind):
    table, message = BAD_TABLES[case]
    model = make(kind)
    n_rows = table.shape[0] if case.startswith("no rows") else 24
    with pytest.raises(ValueError, match=message):
        model.fit(table, target_for(kind)[:n_rows])
    assert_not_fitted(model)


@pytest.mark.parametrize(("table", "error"), [(None, ValueError), ({"a": 1}, TypeError), ("text", ValueError)])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_table_is_refused(table, error, kind):
    model = make(kind)
    with pytest.raises(error):
        model.fit(table, target_for(kind))
    assert_not_fitted(model)


def test_a_lazy_frame_is_refused():
    with pytest.raises(TypeError, match="lazy frame"):
        make(LSPINClassifier).fit(pl.LazyFrame(X, schema=NAMES), LABELS)


@pytest.mark.parametrize(
    ("kind", "message"), [(LSPINClassifier, "one class only .*in all 1 rows"), (LSPINRegressor, "n_samples=1")]
)
def test_one_row_is_refused_with_the_reason(kind, message):
    model = make(kind)
    with pytest.raises(ValueError, match=message):
        model.fit(X[:1], target_for(kind)[:1])
    assert_not_fitted(model)


def test_one_row_given_many_times_is_refused_with_the_reason():
    with pytest.raises(ValueError, match="target is constant"):
        make(LSPINRegressor).fit(np.repeat(X[:1], 24, axis=0), np.ones(24))


@pytest.mark.parametrize("kind", KINDS)
def test_a_failed_fit_leaves_a_fitted_model_unfitted(kind):
    model = make(kind).fit(X, target_for(kind))
    with pytest.raises(ValueError, match="infinity"):
        model.fit(changed(X, (0, 0), np.inf), target_for(kind))
    assert_not_fitted(model)


# Targets and weights -----------------------------------------------------------------------------------------

BAD_LABELS = {
    "none": (None, "requires y"),
    "one class": (np.full(24, 7), "one class only .*7.* in all 24 rows"),
    "a class a row": (np.arange(24), "24 classes in 24 rows"),
    "NaN": (changed(LABELS, 4, np.nan), r"y contains NaN \(1 of 24 rows, the first is row 4\)"),
    "infinity": (changed(LABELS, 4, np.inf), "y contains infinity .*the first is row 4"),
    "pandas NA": (pd.Series(LABELS, dtype="Int64").mask(LABELS == 1), "y contains NaN"),
    "continuous": (RESPONSE, "Unknown label type: continuous.*use LSPINRegressor"),
    "mixed": (np.array(["a", 1] * 12, dtype=object), r"mixes text \('a' in row 0\) and 1 \(row 1\)"),
    "NaN in a list of text": (["a", "b"] * 11 + ["a", np.nan], r"y contains NaN .*the first is row 23"),
    "number in a list of text": (["a", "b"] * 11 + ["a", 5], r"mixes text \('a' in row 0\) and 5 \(row 23\)"),
    "two columns": (np.column_stack([LABELS, LABELS]), r"shape \(24, 2\)"),
}
BAD_RESPONSES = {
    "none": (None, "requires y"),
    "constant": (np.full(24, 2.5), r"constant \(2.5 in all 24 rows\)"),
    "NaN": (changed(RESPONSE, 4, np.nan), r"y contains NaN \(1 of 24 rows, the first is row 4\)"),
    "infinity": (changed(RESPONSE, 4, -np.inf), "y contains infinity .*the first is row 4"),
    "pandas NA": (pd.Series(LABELS, dtype="Int64").mask(LABELS == 1), "y contains NaN"),
    "text": (["1.5"] * 23 + ["low"], r"'low'.* \(row 23\), which is no number; for classes use LSPINClassifier"),
    "dates": (pd.Series(pd.date_range("2020-01-01", periods=24)), "dates or times"),
    "two columns": (np.column_stack([RESPONSE, RESPONSE]), r"shape \(24, 2\)"),
    "near the largest float": (
        changed(RESPONSE, 4, -1.7e308),
        r"holds -1.7e\+308 \(row 4\).*divide it",
    ),
}


@pytest.mark.parametrize("case", BAD_LABELS)
def test_bad_labels_are_refused_and_nothing_is_fitted(case):
    y, message = BAD_LABELS[case]
    model = make(LSPINClassifier)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert_not_fitted(model)


@pytest.mark.parametrize("case", BAD_RESPONSES)
def test_a_bad_response_is_refused_and_nothing_is_fitted(case):
    y, message = BAD_RESPONSES[case]
    model = make(LSPINRegressor)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert_not_fitted(model)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (changed(np.ones(24), 3, -0.5), r"negative in row 3 \(-0.5\)"),
        (np.zeros(24), "all 24 sample weights are zero"),
        (changed(np.ones(24), 3, np.nan), "sample_weight contains NaN"),
        (changed(np.ones(24), 3, np.inf), "sample_weight contains infinity"),
        (np.full(24, 1e308), "sample_weight adds up to infinity"),
        (np.ones(20), r"sample_weight.shape == \(20,\), expected \(24,\)"),
        (["heavy"] * 24, "heavy"),
    ],
)
def test_bad_weights_are_refused_and_nothing_is_fitted(kind, weights, message):
    model = make(kind)
    with pytest.raises(ValueError, match=message):
        model.fit(X, target_for(kind), sample_weight=weights)
    assert_not_fitted(model)


def test_weights_that_leave_one_class_are_refused():
    with pytest.raises(ValueError, match=r"one class only .*1"):
        make(LSPINClassifier).fit(X, LABELS, sample_weight=LABELS)


def test_weights_that_leave_one_row_are_refused():
    with pytest.raises(ValueError, match=r"one distinct row of positive weight \(24 in all\)"):
        make(LSPINRegressor).fit(X, RESPONSE, sample_weight=np.eye(24)[3])


@pytest.mark.parametrize(
    ("kind", "eval_set", "message"),
    [
        (LSPINClassifier, X, "eval_set must be"),
        (LSPINClassifier, (X,), "eval_set must be"),
        (LSPINClassifier, [(X, LABELS), (X, LABELS)], "eval_set must be one tuple .*it holds 2"),
        (LSPINClassifier, [(X,)], "eval_set must be"),
        (LSPINClassifier, (X[:, :2], LABELS), "X has 2 features"),
        (LSPINClassifier, (X, LABELS[:5]), r"inconsistent numbers of samples: \[24, 5\]"),
        (LSPINClassifier, (X, LABELS + 5), "eval_set holds the class 5"),
        (LSPINClassifier, (X, np.array(["a", None] * 12, dtype=object)), "eval_set holds the class"),
        (LSPINClassifier, (X, LABELS, -np.ones(24)), "negative in row 0"),
        (LSPINRegressor, (changed(X, (2, 2), np.inf), RESPONSE), r"infinity in column 2 \(row 2\)"),
        (LSPINRegressor, (X, changed(RESPONSE, 9, np.nan)), "y contains NaN .*row 9"),
    ],
)
def test_a_bad_evaluation_set_is_refused_and_nothing_is_fitted(kind, eval_set, message):
    model = make(kind)
    with pytest.raises(ValueError, match=message):
        model.fit(X, target_for(kind), eval_set=eval_set)
    assert_not_fitted(model)


# Parameters --------------------------------------------------------------------------------------------------

WRONG = {
    "hidden_layer_sizes": [4, "four", None, (0,), (4, -1), (2.5,), ("4",), ((4,),)],
    "gate_hidden_layer_sizes": [4, "four", (0,), (4, -1), (2.5,), ("4",), ((4,),)],
    "sparsity": [-0.1, np.nan, np.inf, "much", None, (0.1,)],
    "n_features": [0, -1, 1.5, "two", 4],
    "n_panel": [0, -1, 1.5, "two", 4],
    "rule": ["best", 1, None],
    "start": ["nets", 1, None, ("groups",)],
    "context": ["age", 1, [], [3], [-1], [0, 0], ["age"], [1.5], [None], [True], np.array([[0, 1]])],
    "context_only": [2, "yes", None, True],
    "stability": [-1, np.nan, np.inf, "much", None],
    "diversity": [-1, np.nan, np.inf, "much", None],
    "affinity": ["cosine", None, 3],
    "gate_exchange": [-0.1, 1.1, np.nan, "some"],
    "noise_scale": [0, -1, np.nan, np.inf, "loud"],
    "learning_rate": [0, -1, np.nan, np.inf, "fast"],
    "scaling": ["pixels", 1, None],
    "centering": [2, "yes", "auto"],
    "columns": ["all", 1, ["a"]],
    "zero_is_absent": [2, "yes", None],
    "anchor": ["lasso", 0.5, np.ones((3, 3)), np.full((1, 3), np.nan)],
    "weight_decay": [-1, np.nan, np.inf, "some", None],
    "max_epochs": [0, -1, 2.5, "many"],
    "batch_size": [0, -1, 2.5, "many", None],
    "validation_fraction": [0, 1, -0.1, 1.5, np.nan, "some", None],
    "patience": [0, -1, 2.5, "much"],
    "n_restarts": [0, -1, 2.5, "many", None],
    "n_members": [0, -1, 2.5, "many", None],
    "bootstrap": ["yes", None, 2],
    "n_jobs": [0, 1.5, "all"],
    "random_state": ["seed", -1, 1.5],
    "verbose": [-1, "yes", None],
}
WRONG_FOR_SOME = {
    "loss": ["huber", 2, None],
    "pos_label": ["no such class", 17],
    "class_weight": ["equal", 2, [1, 2], {0: -1, 1: 1}, {0: 0, 1: 0}, {0: np.nan, 1: 1}, {5: 1}],
}


def wrong_parameters():
    return [
        pytest.param(kind, name, value, id=f"{kind.__name__}-{name}-{value}")
        for kind in KINDS
        for name in inspect.signature(kind).parameters
        for value in (WRONG | WRONG_FOR_SOME)[name]
    ]


@pytest.mark.parametrize(("kind", "name", "value"), wrong_parameters())
def test_a_parameter_out_of_range_or_of_the_wrong_type_is_refused_by_name(kind, name, value):
    model = make(kind, **({"sparsity": "auto"} if name == "n_features" else {}) | {name: value})
    with pytest.raises((ValueError, TypeError), match=name):
        model.fit(X, target_for(kind))
    assert_not_fitted(model)


COUNTED = [
    "max_epochs",
    "batch_size",
    "patience",
    "n_restarts",
    "n_members",
    "sparsity",
    "weight_decay",
    "noise_scale",
]


@pytest.mark.parametrize("name", [*COUNTED, "hidden_layer_sizes", "verbose"])
@pytest.mark.parametrize("size", [2**31, 10**20, 10**400])
def test_a_number_that_nothing_can_count_to_is_refused_by_name(name, size):
    model = make(LSPINClassifier, **{name: (size,) if "layer" in name else size})
    with pytest.raises(ValueError, match=rf"{name} must be below 2,147,483,648; .* {size.bit_length()} bits"):
        model.fit(X, LABELS)
    assert_not_fitted(model)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_features": 2, "sparsity": 0.1}, "n_features=2 .* sparsity=0.1"),
        ({"bootstrap": True}, "n_members > 1"),
        ({"stability": 1.0, "affinity": np.ones((3, 3))}, r"shape \(3, 3\) where \(24, 24\)"),
        ({"diversity": 1.0, "affinity": changed(np.ones((24, 24)), (3, 5), np.nan)}, "nan in row 3, column 5"),
        ({"stability": 1.0, "affinity": changed(np.ones((24, 24)), (3, 5), -2)}, "-2 in row 3, column 5"),
        ({"stability": 1.0, "affinity": lambda a, b: np.ones(3)}, r"shape \(3,\) where \(24, 24\)"),
    ],
)
def test_parameters_that_do_not_fit_together_or_the_table_are_refused(kind, parameters, message):
    model = make(kind, **parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, target_for(kind))
    assert_not_fitted(model)


def test_label_affinity_without_labels_is_refused():
    with pytest.raises(ValueError, match="affinity='labels' needs classes"):
        make(LSPINRegressor, stability=1.0, affinity="labels").fit(X, RESPONSE)


# Using a model -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [pd.DataFrame, lambda values, columns: pl.DataFrame(values, schema=columns)])
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["age", "dose"], "missing:\n- stage"),
        (["age", "dose", "stage", "new"], "unseen at fit time:\n- new"),
        (["age", "dose", "Stage"], "unseen at fit time:\n- Stage"),
        (["dose", "age", "stage"], "same order"),
    ],
)
def test_other_columns_than_at_fit_are_refused_by_name(container, columns, message, classifier):
    table = container(np.zeros((5, len(columns))), columns=columns)
    for use in (classifier.predict, classifier.gates, classifier.transform):
        with pytest.raises(ValueError, match=message):
            use(table)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(
    ("table", "message"),
    [
        (X[:, :2], "X has 2 features, but LSPINClassifier is expecting 3"),
        (X[:0], r"0 sample\(s\)"),
        (frame().iloc[:0], r"0 sample\(s\)"),
        (X[0], "2D array, got 1D"),
        (changed(X, (5, 1), np.inf), r"infinity in column 1 \(row 5\)"),
        (frame(dose=changed(X[:, 1], 5, np.inf)), r"infinity in column 'dose' \(row 5\)"),
        (frame(dose=["high", "low"] * 12), "column 'dose' holds text"),
        (frame(dose=pd.Categorical(["high", "low"] * 12)), "column 'dose' is categorical here, but held numbers"),
    ],
)
def test_a_bad_table_is_refused_when_predicting(table, message, classifier):
    with pytest.raises(ValueError, match=message):
        classifier.predict(table)


NEEDS_NO_FIT = {"fit", "fit_transform", "get_params", "set_params", "set_output", "get_metadata_routing"}


def public_names(kind):
    names = {name for name in dir(kind) if not name.startswith("_") and not name.endswith("_request")}
    return sorted(names - NEEDS_NO_FIT - set(kind().get_params()))


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in KINDS for name in public_names(kind)], ids=str
)
def test_a_model_that_is_not_fitted_says_so(kind, name, tmp_path):
    arguments = {
        "score": (X, target_for(kind)),
        "save": (tmp_path / "model",),
        "get_feature_names_out": (),
        "predict_with_gates": (X, np.ones(X.shape)),
    }
    with pytest.raises(NotFittedError, match=f"{kind.__name__} instance is not fitted"):
        getattr(make(kind), name)(*arguments.get(name, (X,)))
    assert not any(tmp_path.iterdir())


# Odd but legal -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "scales", [(1e30, 1.0, 1.0), (1e-12, 1e12, 1.0), (1e-30, 1e30, 1e300), (1e307, 1e-320, 1.0)]
)
def test_columns_on_any_scale_give_finite_predictions(kind, scales):
    table = X * scales
    assert_finite(make(kind).fit(table, target_for(kind)), table)


@pytest.mark.parametrize("scale", [1e-320, 1e-12, 1e12, 1e30, 1e300])
def test_a_response_on_any_scale_gives_finite_predictions(scale):
    model = make(LSPINRegressor).fit(X, RESPONSE * scale)
    assert_finite(model, X)
    assert_finite(model, 1e6 * X)
    if scale > 1e-300:
        expected = r2_score(RESPONSE, model.predict(X) / scale)
        assert model.score(X, RESPONSE * scale) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("value", [1e30, -1e300, 1.7e308, 5e-324])
def test_values_never_seen_in_training_give_finite_predictions(value, classifier):
    for place in range(24):
        assert_finite(classifier, pd.DataFrame(changed(X, (place, place % 3), value), columns=NAMES))
    assert_finite(classifier, pd.DataFrame(np.full((2, 3), value), columns=NAMES))


@pytest.mark.parametrize("weights", [np.full(24, 1e300), np.full(24, 1e-300), np.linspace(0, 1e30, 24)])
def test_weights_on_any_scale_give_finite_predictions(weights):
    assert_finite(make(LSPINClassifier).fit(X, LABELS, sample_weight=weights), X)


def test_a_table_of_one_column_gives_finite_predictions():
    assert_finite(make(LSPINClassifier).fit(X[:, :1], LABELS), X[:, :1])


def test_an_evaluation_set_with_a_constant_response_is_legal():
    assert_finite(make(LSPINRegressor).fit(X, RESPONSE, eval_set=(X[:8], np.ones(8))), X)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "parameters",
    [{"learning_rate": rate, "max_epochs": n} for rate in (1e3, 1e6, 1e20, 1e38, 1e300) for n in (1, 2, 5, 40)]
    + [{"sparsity": 1e300}, {"noise_scale": 1e300}, {"noise_scale": 1e-300}, {"sparsity": 1e30}],
    ids=str,
)
def test_a_fit_that_diverges_is_an_error_with_advice_and_never_nan(kind, parameters):
    model = make(kind, **parameters)
    try:
        model.fit(X, target_for(kind))
    except FloatingPointError as error:
        assert "learning_rate" in str(error)  # noqa: PT017
        assert_not_fitted(model)
    else:
        assert_finite(model, X)


def test_a_fit_that_diverges_is_a_wrong_value_too():  # which the command line says in a sentence
    with pytest.raises(ValueError, match="learning_rate"):
        make(LSPINRegressor, learning_rate=1e38).fit(X, RESPONSE)


# Drawn tables ------------------------------------------------------------------------------------------------

drawn = settings(max_examples=20, deadline=None, derandomize=True)
legal_numbers = st.sampled_from([np.nan, 0.0, 1e30, -1e30, 1e300, 1e-300, 1.7e308, 5e-324])
numbers = st.one_of(legal_numbers, st.floats(width=64), st.sampled_from([np.inf, -np.inf]))
cells = st.dictionaries(st.tuples(st.integers(0, 23), st.integers(0, 2)), numbers, max_size=6)
few_cells = st.dictionaries(st.tuples(st.integers(0, 7), st.just(1)), numbers, max_size=2)
odd_targets = st.dictionaries(st.integers(0, 23), st.sampled_from([np.nan, np.inf, 0.0, -1e30, 1e300]), max_size=1)


def replace_cells(array, replaced):
    copy = np.array(array, dtype=float)
    for place, value in replaced.items():
        copy[place] = value
    return copy


def assert_refused_or_finite(model, table, y, *, legal):
    """The rule for every table: a legal one gives finite predictions, another an error and nothing fitted."""
    if legal:
        assert_finite(model.fit(table, y), table)
        return
    with pytest.raises(ValueError, match=r"infinity|NaN|constant|distinct row|sample"):
        model.fit(table, y)
    assert_not_fitted(model)


@pytest.mark.parametrize("kind", KINDS)
@drawn
@given(replaced=cells)
def test_a_drawn_table_is_refused_where_it_holds_infinity_and_else_gives_finite_predictions(kind, replaced):
    table = replace_cells(X, replaced)
    assert_refused_or_finite(make(kind), table, target_for(kind), legal=not np.isinf(table).any())


@drawn
@given(replaced=cells, targets=odd_targets)
def test_a_drawn_response_is_refused_where_it_is_no_number_and_else_gives_finite_predictions(replaced, targets):
    table, y = replace_cells(X, replaced), replace_cells(RESPONSE, targets)
    legal = np.isfinite(y).all() and not np.isinf(table).any()
    assert_refused_or_finite(make(LSPINRegressor), table, y, legal=legal)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")  # where a drawn number becomes a float32
@drawn
@given(replaced=cells, kinds=st.tuples(*[st.sampled_from(["float64", "float32", "object", "Float64"])] * 2))
def test_a_drawn_frame_is_refused_where_it_holds_infinity_and_else_gives_finite_predictions(replaced, kinds):
    age, dose, _ = replace_cells(X, replaced).T
    table = pd.DataFrame(
        {
            "age": pd.Series(age).astype(kinds[0]),
            "dose": pd.Series(dose).astype(kinds[1]),
            "stage": pd.Categorical([None] + [["I", "II"][row % 2] for row in range(23)]),
        }
    )
    held = [float(entry) for name in ("age", "dose") for entry in table[name] if not pd.isna(entry)]
    assert_refused_or_finite(make(LSPINClassifier), table, LABELS, legal=np.isfinite(held).all())


@drawn
@given(n_rows=st.sampled_from([0, 1, 2, 7, 8]), replaced=few_cells)
def test_a_drawn_table_of_few_rows_is_refused_or_gives_finite_predictions(n_rows, replaced):
    table = replace_cells(X[:8], replaced)[:n_rows]
    varying = any(len(set(column[~np.isnan(column)])) > 1 for column in table.T)
    legal = n_rows > 1 and varying and not np.isinf(table).any()
    assert_refused_or_finite(make(LSPINRegressor), table, RESPONSE[:n_rows], legal=legal)
