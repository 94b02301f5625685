"""What is drawn: the heights of bars, the pixels of maps, labels, and words where there is nothing to draw."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from conftest import QUICK
from lspin import LSPINCox, LSPINRegressor, plots
from lspin.explanation.record import Explanation
from lspin.survival import kaplan_meier, make_survival
from lspin.targets import Classes, Response, Times
from small_clouds import draw_groups

plt = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed: pip install 'lspin[plots]'")
plt.switch_backend("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def explanation_of(sets, n_features=4, n_outputs=1, **changes):
    """An explanation in which the samples select these sets and gate ``c`` of sample ``r`` adds ``r + c - 2``."""
    rows = np.array([row for row, columns in enumerate(sets) for _ in columns], int)
    columns = np.array([column for columns in sets for column in sorted(columns)], int)
    contributions = (rows + columns - 2.0)[:, None] * np.arange(1, n_outputs + 1)
    scores = np.full((len(sets), n_outputs), 0.5)
    np.add.at(scores, rows, contributions)
    fields = {
        "sample_names": np.array([f"P{row}" for row in range(len(sets))], object),
        "feature_names": np.array([f"gene {column}" for column in range(n_features)], object),
        "kind": Response(),
        "baseline": np.full(n_outputs, 0.5),
        "scores": scores,
        "methods": np.full(len(sets), "linear", object),
        "rows": rows,
        "columns": columns,
        "open_gates": np.full(len(rows), 0.75),
        "open_confidence": np.ones(len(rows)),
        "open_values": 10.0 * columns,
        "open_contributions": contributions,
    }
    return Explanation(**{**fields, **changes})


SETS = [{0, 1}, {2}, {0, 1}, {0, 1}, {2}, set()]


def ticks(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def widths(ax):
    return [bar.get_width() for bar in ax.patches]


def words(ax):
    return " ".join(text.get_text() for text in ax.texts)


# Gates and selections ----------------------------------------------------------------------------------------


def test_a_gate_map_shows_every_sample_once_with_groups_together():
    ax = plots.gate_map(explanation_of(SETS), groups=["b", "a", "b", "b", "a", "a"])
    (image,) = ax.images
    pixels = np.asarray(image.get_array())
    assert pixels.shape == (6, 3)  # a feature that no sample selects is not shown
    assert pixels.sum() == pytest.approx(0.75 * 8)
    assert ticks(ax.yaxis) == ["a (n = 3)", "b (n = 3)"]
    two = ticks(ax.xaxis).index("gene 2")
    assert (pixels[:3, two] > 0).sum() == 2
    assert not pixels[3:, two].any()


def test_the_truth_stands_beside_the_gates_in_the_same_order():
    explanation = explanation_of(SETS)
    ax = plots.gate_map(explanation, truth=explanation.selected)
    gates, truth = (np.asarray(image.get_array()) for image in ax.images)
    np.testing.assert_array_equal(truth, gates > 0)
    names = ticks(ax.xaxis)
    assert names[:3] == names[3:]
    assert words(ax) == "gates truth"


def test_a_wide_gate_map_shows_the_most_frequent_features():
    sets = [{row % 3, 10 + row} for row in range(60)]
    ax = plots.gate_map(explanation_of(sets, 2000), most_features=5)
    names = ticks(ax.xaxis)
    assert len(names) == 5
    assert {"gene 0", "gene 1", "gene 2"} < set(names)


def test_a_sparse_explanation_draws_like_a_dense_one():
    dense, sparse = (plots.gate_map(explanation_of(SETS, is_sparse=form)) for form in (False, True))
    np.testing.assert_array_equal(dense.images[0].get_array(), sparse.images[0].get_array())
    truth = sp.csr_array(explanation_of(SETS).selected)
    assert len(plots.gate_map(explanation_of(SETS), truth=truth).images) == 2


def test_features_are_drawn_by_how_often_they_are_selected():
    ax = plots.feature_frequency(explanation_of(SETS))
    assert ticks(ax.yaxis) == ["gene 0", "gene 1", "gene 2"]
    np.testing.assert_allclose(widths(ax), [3 / 6, 3 / 6, 2 / 6])
    few = plots.feature_frequency(explanation_of(SETS), most=1)
    assert few.get_title(loc="right") == "the 1 most frequent of 3 selected features"


def test_sets_are_drawn_by_how_often_they_are_selected():
    ax = plots.set_frequency(explanation_of(SETS))
    assert ticks(ax.yaxis) == ["gene 0 + gene 1", "gene 2", "no feature"]
    np.testing.assert_allclose(widths(ax), [3 / 6, 2 / 6, 1 / 6])
    assert plots.set_frequency(explanation_of(SETS), most=2).get_title(loc="right").endswith("of 3 sets")


def test_a_large_set_is_named_by_what_is_rare_elsewhere():
    sets = [set(range(30)), set(range(29))]
    first, second = ticks(plots.set_frequency(explanation_of(sets, 30)).yaxis)
    assert first.startswith("gene 29 + ")
    assert first.endswith(" more")
    named = first.count("gene")
    assert f"{30 - named} more" in first
    assert "gene 29" not in second


def test_gates_lie_over_the_picture():
    image, gates = np.arange(12.0), np.eye(3, 4).ravel()
    ax = plots.gates_on_image(image, gates, shape=(3, 4))
    below, above = (picture.get_array() for picture in ax.images)
    np.testing.assert_array_equal(below, image.reshape(3, 4))
    np.testing.assert_array_equal(np.ma.getmaskarray(above), np.eye(3, 4) == 0)
    with pytest.raises(ValueError, match="12 pixels and 12 gates do not make pictures of"):
        plots.gates_on_image(image, gates)


# One sample --------------------------------------------------------------------------------------------------


def test_a_waterfall_leads_from_the_baseline_to_the_prediction():
    explanation = explanation_of([{0}, {0, 1, 3}])
    ax = plots.waterfall(explanation, "P1")
    assert ticks(ax.yaxis) == ["gene 1 = 10", "gene 0 = 0", "gene 3 = 30"]
    np.testing.assert_allclose(widths(ax), [0, -1, 2])
    assert ax.patches[0].get_x() == pytest.approx(0.5)
    last = ax.patches[-1]
    assert last.get_x() + last.get_width() == pytest.approx(explanation.prediction[1])
    assert ax.get_title(loc="right") == "sample P1: baseline 0.5, prediction 1.5"


def test_a_waterfall_shows_no_rounding():
    explanation = explanation_of([{0}, {0, 1, 3}])
    ax = plots.waterfall(replace(explanation, baseline=np.array([-2.57e-16])), "P1")
    assert "baseline 0, prediction 1.5" in ax.get_title(loc="right")


def test_a_waterfall_gathers_what_adds_least():
    explanation = explanation_of([set(range(30))], 30)
    ax = plots.waterfall(explanation, 0, most=4)
    assert ticks(ax.yaxis)[0] == "27 other features"
    assert sum(widths(ax)) == pytest.approx(explanation.prediction[0] - 0.5)


def test_a_waterfall_of_classes_shows_the_likeliest_or_the_one_asked_for():
    classes = np.array(["low", "middle", "high"])
    explanation = explanation_of([{3}], n_outputs=3, kind=Classes(classes=classes))
    assert plots.waterfall(explanation).get_xlabel() == "score of high"
    ax = plots.waterfall(explanation, label="low")
    assert (ax.get_xlabel(), widths(ax)) == ("score of low", [1.0])


def test_a_waterfall_says_where_members_disagree():
    explanation = explanation_of([{3}], open_confidence=np.array([0.6]))
    assert ticks(plots.waterfall(explanation).yaxis) == ["gene 3 = 30  (60% of members)"]


# The path and how good the model is --------------------------------------------------------------------------


class Searched:
    """What a fitted estimator shows of its search."""

    sparsity = "auto"
    sparsity_ = 0.01
    kind_ = Classes()
    path_ = pd.DataFrame(
        {
            "sparsity": [0.1, 0.01, 0.01, 0.001],
            "validation_loss": [1.0, 0.3, 0.2, 0.4],
            "validation_score": [0.0, 0.7, 0.8, 0.6],
            "n_features": [0.0, 4.0, 3.0, 9.0],
        }
    )


def test_the_path_shows_the_best_of_each_sparsity_and_the_chosen_one():
    ax = plots.sparsity_path(Searched())
    scores, chosen = ax.lines
    np.testing.assert_allclose(scores.get_xydata(), [[0.001, 0.6], [0.01, 0.8], [0.1, 0.0]])
    np.testing.assert_allclose(chosen.get_xdata(), 0.01)
    (right,) = [other for other in ax.figure.axes if other is not ax]
    np.testing.assert_allclose(right.lines[0].get_ydata(), [9, 3, 0])
    assert ax.get_ylabel() == "accuracy"


@pytest.mark.parametrize(("kind", "label"), [(Response(), "R²"), (Times(), "concordance")])
def test_the_path_of_each_kind_of_target_has_the_name_of_its_score(kind, label):
    searched = Searched()
    searched.kind_ = kind
    assert plots.sparsity_path(searched).get_ylabel() == label


def test_a_search_for_a_number_of_features_has_no_score():
    estimator = Searched()
    estimator.path_ = Searched.path_.assign(validation_score=np.nan, validation_loss=np.nan)
    ax = plots.sparsity_path(estimator)
    assert len(ax.figure.axes) == 1
    assert ax.get_ylabel() == "features of the median sample"


def test_without_a_path_the_error_says_why():
    estimator = Searched()
    estimator.path_, estimator.sparsity = Searched.path_.iloc[:0], 0.01
    with pytest.raises(ValueError, match=r"sparsity=0.01 was given, not searched for"):
        plots.sparsity_path(estimator)


class Limited(Searched):
    """A fitted model of a panel, as far as its curves are concerned."""

    path_ = Searched.path_.assign(mean_features=[0.0, 4.5, 3.5, 9.0])
    panel_path_ = pd.DataFrame(
        {
            "n_panel": [5, 10, 20, 20],
            "validation_loss": [0.9, 0.3, 0.4, 0.2],
            "validation_score": [0.5, 0.75, 0.7, 0.8],
            "chosen": [False, False, False, True],
        }
    )


def test_scores_by_panel_size_stand_beside_those_by_features_of_a_sample():
    ax = plots.panel_path(Limited())
    by_size, by_sample, chosen = ax.lines
    np.testing.assert_allclose(by_size.get_xydata(), [[5, 0.5], [10, 0.75], [20, 0.8]])
    np.testing.assert_allclose(by_sample.get_xydata(), [[3.5, 0.8], [4.5, 0.7], [9, 0.6]])
    np.testing.assert_allclose(chosen.get_xdata(), 20)
    assert ax.get_ylabel() == "accuracy"


def test_without_a_panel_the_error_says_how_to_have_one():
    estimator = Limited()
    estimator.panel_path_ = Limited.panel_path_.iloc[:0]
    with pytest.raises(ValueError, match="fit with n_panel"):
        plots.panel_path(estimator)


def test_predictions_stand_against_the_truth():
    ax = plots.predicted_against_true([1.0, 2.0, 3.0], [1.0, 2.0, 4.0])
    np.testing.assert_allclose(ax.collections[0].get_offsets(), [[1, 1], [2, 2], [3, 4]])
    assert ax.get_title(loc="right") == "R² = 0.500"
    with pytest.raises(ValueError, match="differ in their shape"):
        plots.predicted_against_true([1.0], [1.0, 2.0])


def test_calibration_gathers_samples_that_are_equally_sure():
    probabilities = np.array([[0.9, 0.1], [0.1, 0.9], [0.9, 0.1], [0.9, 0.1], [0.4, 0.6]])
    truth = ["a", "b", "b", "a", "b"]
    for given in ((truth, probabilities), (probabilities, truth)):  # as scikit-learn has it, and as version 0.1
        ax = plots.calibration(*given, classes=["a", "b"], n_bins=10)
        np.testing.assert_allclose(ax.collections[-1].get_offsets(), [[0.6, 1.0], [0.9, 0.75]])
        assert ax.get_title(loc="right") == "expected calibration error 0.200"  # (1 * 0.4 + 4 * 0.15) / 5
        np.testing.assert_allclose(ax.lines[0].get_xdata(), [0.5, 1])


def test_survival_falls_in_steps_from_one():
    ax = plots.survival_curves({"slow": ([2.0, 5.0], [0.8, 0.4]), "fast": ([1.0], [0.0])})
    slow, fast = ax.lines
    np.testing.assert_allclose(slow.get_xydata(), [[0, 1], [2, 0.8], [5, 0.4]])
    assert slow.get_drawstyle() == "steps-post"
    assert slow.get_color() != fast.get_color()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["slow", "fast"]


def test_kaplan_meier_has_bands_medians_and_the_number_at_risk():
    time, event = np.array([1.0, 2, 2, 3, 4, 5]), np.array([1, 1, 0, 1, 1, 0], bool)
    groups = np.array(["a", "b"] * 3)
    ax = plots.survival_by_group((time, event), groups, time_unit="months")
    for line, name in zip(ax.lines, "ab", strict=True):
        own = kaplan_meier((time[groups == name], event[groups == name])).survival
        np.testing.assert_allclose(line.get_xydata()[1:], np.stack([own.x, own.y], axis=1))
    assert len(ax.collections) == 2
    assert ax.get_xlabel() == "time (months)"
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["a: median 4 (1 to ∞)", "b: median 3 (2 to ∞)"]
    numbers = [text.get_text() for text in ax.texts if text.get_text().isdigit()]
    expected = [str(int((time[groups == name] >= tick).sum())) for name in "ab" for tick in ax.get_xticks()]
    assert numbers == expected
    with pytest.raises(ValueError, match=r"shape \(2,\), and y has 6 rows"):
        plots.survival_by_group((time, event), ["a", "b"])


def test_a_patients_curve_is_drawn_with_its_members_beside_the_cohort(table):
    X, response = table
    y = make_survival(np.exp(-response), np.arange(96) % 4 > 0)
    settings = {**QUICK, "hidden_layer_sizes": (), "n_restarts": 1, "max_epochs": 60}
    model = LSPINCox(**settings, sparsity=0.01, n_members=2).fit(X, y)
    ax = plots.patient_survival(model, X, 7, y=y)
    cohort, own = ax.lines
    expected = model.predict_survival_function(X[7:8])[0]
    np.testing.assert_allclose(own.get_ydata()[1:], expected.y)
    np.testing.assert_allclose(cohort.get_ydata()[1:], kaplan_meier(y).survival.y)
    assert len(ax.collections) == 2
    alone = LSPINCox(**settings, sparsity=0.01).fit(X, y)
    assert len(plots.patient_survival(alone, X, 7).collections) == 0


# Whatever is drawn -------------------------------------------------------------------------------------------

DRAWINGS = {
    "gate_map": plots.gate_map,
    "feature_frequency": plots.feature_frequency,
    "set_frequency": plots.set_frequency,
    "waterfall": plots.waterfall,
    "sparsity_path": lambda _, ax=None: plots.sparsity_path(Searched(), ax=ax),
    "panel_path": lambda _, ax=None: plots.panel_path(Limited(), ax=ax),
    "predicted": lambda _, ax=None: plots.predicted_against_true([0.0, 1.0], [0.0, 1.0], ax=ax),
    "calibration": lambda _, ax=None: plots.calibration([0], [[0.5, 0.5]], ax=ax),
    "survival": lambda _, ax=None: plots.survival_curves({}, ax=ax),
    "kaplan_meier": lambda _, ax=None: plots.survival_by_group(([1.0, 2.0], [1, 0]), ax=ax),
    "image": lambda _, ax=None: plots.gates_on_image(np.zeros(4), np.zeros(4), ax=ax),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_figure_is_drawn_on_the_given_axes_or_on_its_own(name):
    _, ax = plt.subplots()
    assert DRAWINGS[name](explanation_of(SETS), ax=ax) is ax
    other = DRAWINGS[name](explanation_of(SETS))
    assert other is not ax
    other.figure.canvas.draw()


@pytest.mark.parametrize("name", ["gate_map", "feature_frequency", "waterfall"])
def test_where_all_gates_are_shut_words_say_so(name):
    ax = DRAWINGS[name](explanation_of([set(), set()]))
    assert "all gates are shut" in words(ax)


@pytest.mark.parametrize("name", ["gate_map", "feature_frequency", "set_frequency", "waterfall"])
def test_hostile_names_are_drawn_as_text(name):
    names = np.array(["$x^{2$", "<script>alert(1)</script>", "a" * 300, ""], object)
    ax = DRAWINGS[name](explanation_of([{0, 1, 2, 3}], feature_names=names))
    ax.figure.canvas.draw()
    assert max(map(len, ticks(ax.xaxis) + ticks(ax.yaxis))) <= 80


# Subgroups ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def grouped():
    X, y, _ = draw_groups(1, n_rows=160)
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    return LSPINRegressor(start="groups", random_state=0).fit(frame, y), frame


def test_subgroups_show_what_tells_the_groups_and_what_counts_in_each(grouped):
    model, frame = grouped
    ax = plots.subgroups(model, frame)
    groups = model.memberships(frame).argmax(axis=1)
    rows = np.argsort(groups, kind="stable")
    assert sorted(ticks(ax.xaxis)[:3]) == ["a", "b", "c"]
    values, gates = (np.asarray(image.get_array()) for image in ax.images)
    standard = (frame - frame.mean()) / frame.std(ddof=0)
    np.testing.assert_allclose(values, standard[ticks(ax.xaxis)[:3]].to_numpy()[rows] / 2)
    shown = dict(zip(ticks(ax.xaxis)[3:], gates.T, strict=True))
    np.testing.assert_allclose(shown["d"], model.gates(frame)[rows, 3])
    np.testing.assert_allclose(shown["e"], -model.gates(frame)[rows, 4])  # it lowers the response
    np.testing.assert_allclose(shown["f"], model.gates(frame)[rows, 5])
    sizes = np.bincount(groups)
    assert ticks(ax.yaxis) == [f"group {number + 1} (n = {n})" for number, n in enumerate(sizes)]


def test_subgroups_of_one_group_and_with_missing_values_are_drawn(grouped):
    model, frame = grouped
    holed = frame.mask(frame > 1.5)
    ax = plots.subgroups(model, holed, most_telling=1, ax=plt.subplots()[1])
    assert np.isnan(np.asarray(ax.images[0].get_array(), float)).sum() == holed[ticks(ax.xaxis)[0]].isna().sum()
    alone = LSPINRegressor(start="groups", random_state=0).fit(frame, frame["a"] - frame["b"])
    ax = plots.subgroups(alone, frame)
    assert len(ax.images) == 1
    assert ticks(ax.yaxis) == ["group 1 (n = 160)"]
    ax.figure.canvas.draw()


def test_subgroups_need_a_model_of_groups(grouped):
    _, frame = grouped
    networks = LSPINRegressor(start="networks", sparsity=0.1, max_epochs=2, random_state=0).fit(frame, frame["a"])
    with pytest.raises(AttributeError, match="no groups"):
        plots.subgroups(networks, frame)
