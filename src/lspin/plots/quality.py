"""Figures of one prediction, of the sparsity path and of how good a model is."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from lspin.explanation.record import Explanation
from lspin.metrics import bin_by_confidence, expected_calibration_error
from lspin.plots.drawing import (
    DOWN,
    GREY,
    UP,
    measure_names,
    say,
    set_title,
    shorten,
    take_axes,
    word_number,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROUNDING = 1e-9  # of the largest number of a figure, below which another is 0

# One sample --------------------------------------------------------------------------------------------------


def waterfall(
    explanation: Explanation,
    sample: str | int = 0,
    *,
    label: Any = None,
    most: int = 10,
    ax: "Axes | None" = None,
) -> "Axes":
    """Waterfall of one prediction: from the baseline to the prediction, one bar for each feature.

    Parameters
    ----------
    explanation
        Explanation that contains the sample.
    sample
        Name or position of the sample.
    label
        Class whose score is shown, of three or more; by default the likeliest. Of two it is ``pos_label``.
    most
        Largest number of bars; the features that add least share one bar.
    ax
        Axes to draw on.

    Returns
    -------
    Axes
        The axes that were drawn on.
    """
    row = explanation.find(sample)
    output = explanation.output_of(label) if label is not None else int(explanation.scores[row].argmax())
    steps = _list_steps(explanation, row, output, most)
    reference = explanation.kind.reference
    baseline, prediction = (part[output] - reference for part in (explanation.baseline, explanation.scores[row]))
    ends = baseline + np.cumsum([change for _, change in steps])
    ax = take_axes(ax, 4.0 + measure_names([name for name, _ in steps]), 1.2 + 0.34 * max(len(steps), 2))
    ax.use_sticky_edges = False  # bars leave room for their numbers
    largest = np.abs([*ends, baseline]).max()
    # What is left of a sum that is 0 would be shown as 2.57e-16.
    told = [word_number(0.0 if abs(value) < ROUNDING * largest else value) for value in (baseline, prediction)]
    said = f"baseline {told[0]}, prediction {told[1]}"
    set_title(ax, f"sample {shorten([explanation.sample_names[row]])[0]}: {said}")
    for place, ((_, change), end) in enumerate(zip(steps, ends, strict=True)):
        ax.barh(place, change, left=end - change, height=0.6, color=UP if change >= 0 else DOWN)
        ax.annotate(
            word_number(change, "+.3g"),
            (end, place),
            xytext=(4 if change >= 0 else -4, 0),
            textcoords="offset points",
            ha="left" if change >= 0 else "right",
            va="center",
            fontsize=8,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
        )
        if place + 1 < len(steps):
            ax.plot([end, end], [place + 0.3, place + 0.7], color=GREY, linewidth=0.6)
    if not steps:
        return say(ax, "all gates are shut")
    ax.axvline(baseline, color=GREY, linewidth=0.8, linestyle=":", zorder=0)
    ax.axvline(prediction, color="black", linewidth=0.8, zorder=0)
    ax.set_yticks(range(len(steps)), [name for name, _ in steps], fontsize=8)
    ax.set_ylim(-0.6, max(len(steps), 1) - 0.4)
    ax.margins(x=0.25)
    ax.set_xlabel(explanation.kind.name_told(output))
    return ax


def _list_steps(explanation: Explanation, row: int, output: int, most: int) -> list[tuple[str, float]]:
    """What is added to the baseline, the smallest part first, and what it is called."""
    here = np.flatnonzero(explanation.rows == row)
    contributions = explanation.open_contributions[:, output]
    here = here[np.argsort(-np.abs(contributions[here]), kind="stable")]
    shown = here if len(here) <= most else here[: most - 1]
    steps = [(_name_entry(explanation, entry), float(contributions[entry])) for entry in shown]
    if len(shown) < len(here):
        rest = here[len(shown) :]
        steps.append((f"{len(rest)} other features", float(contributions[rest].sum())))
    return steps[::-1]


def _name_entry(explanation: Explanation, entry: int) -> str:
    value, confidence = explanation.open_values[entry], explanation.open_confidence[entry]
    shown = shorten([value])[0] if isinstance(value, str) else word_number(value, ".4g")
    sure = f"  ({confidence:.0%} of members)" if confidence < 1 - 1e-9 else ""
    return f"{shorten([explanation.feature_names[explanation.columns[entry]]])[0]} = {shown}{sure}"


# The path and how good the model is --------------------------------------------------------------------------


def sparsity_path(estimator: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Held-out score and number of features against the sparsity; a line marks the sparsity that was chosen.

    Parameters
    ----------
    estimator
        Fitted estimator whose sparsity was chosen, not given.
    ax
        Axes to draw on; new ones by default.

    Returns
    -------
    Axes
        The axes that were drawn on.
    """
    path = estimator.path_
    if len(path) == 0:
        raise ValueError(f"there is no path: sparsity={estimator.sparsity!r} was given, not searched for")
    # Of the weight decays tried at one sparsity, the best.
    best = path.sort_values("validation_loss", kind="stable").drop_duplicates("sparsity").sort_values("sparsity")
    ax = take_axes(ax, 5.0, 3.4)
    ax.set_xscale("log")
    ax.set_xlabel("sparsity (price of an open gate)")
    if best["validation_score"].isna().all():
        _draw_counts(ax, best)
    else:
        ax.plot(best["sparsity"], best["validation_score"], "o-", color=DOWN, markersize=4)
        ax.set_ylabel(estimator.kind_.score_name, color=DOWN)
        right = ax.twinx()
        right.spines["top"].set_visible(False)
        _draw_counts(right, best)
    _mark(ax, estimator.sparsity_, f"chosen: {estimator.sparsity_:.2g}")
    return ax


def _draw_counts(ax: "Axes", path: pd.DataFrame) -> None:
    ax.plot(path["sparsity"], path["n_features"], "s--", color=UP, markersize=4)
    ax.set_ylabel("features of the median sample", color=UP)
    ax.set_ylim(bottom=0)


def panel_path(estimator: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Held-out score against the columns that all samples together may use, and against those that a sample uses.

    A line marks the size of the panel that was chosen.

    Parameters
    ----------
    estimator
        Estimator fitted with ``n_panel``.
    ax
        Axes to draw on; new ones by default.

    Returns
    -------
    Axes
        The axes that were drawn on.
    """
    panels = estimator.panel_path_
    if len(panels) == 0:
        raise ValueError("there are no panels: fit with n_panel, the most columns that all samples may use")
    own = estimator.path_[estimator.path_["mean_features"] > 0].sort_values("mean_features")
    best = panels.sort_values("validation_loss", kind="stable").drop_duplicates("n_panel")
    by_size = best.sort_values("n_panel")
    ax = take_axes(ax, 5.0, 3.4)
    ax.plot(by_size["n_panel"], by_size["validation_score"], "o-", color=DOWN, markersize=4, label="all samples")
    ax.plot(own["mean_features"], own["validation_score"], "s--", color=UP, markersize=4, label="one sample, mean")
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_xlabel("columns used")
    ax.set_ylabel(estimator.kind_.score_name)
    chosen = int(panels.loc[panels["chosen"], "n_panel"].iloc[0])
    _mark(ax, chosen, f"panel: {chosen}")
    ax.legend(frameon=False, fontsize=8, title="columns of", title_fontsize=8, loc="best")
    return ax


def _mark(ax: "Axes", place: float, words: str) -> None:
    ax.axvline(place, color="black", linewidth=0.8, linestyle=":")
    ax.annotate(
        words,
        (place, 1),
        xycoords=ax.get_xaxis_transform(),
        xytext=(3, 2),
        textcoords="offset points",
        fontsize=8,
    )


def predicted_against_true(y: Any, predicted: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Predicted against true responses, with the line on which they are equal.

    Parameters
    ----------
    y
        True responses, shape ``(n_samples,)``.
    predicted
        Predicted responses, shape ``(n_samples,)``.
    ax
        Axes to draw on; new ones by default.

    Returns
    -------
    Axes
        The axes that were drawn on.
    """
    y, predicted = np.asarray(y, float), np.asarray(predicted, float)
    if y.shape != predicted.shape:
        raise ValueError(f"y and predicted differ in their shape: {y.shape} and {predicted.shape}")
    ax = take_axes(ax, 3.8, 3.8)
    ax.scatter(y, predicted, s=12, color=DOWN, alpha=0.6, linewidths=0)
    if len(y):
        ends = [min(y.min(), predicted.min()), max(y.max(), predicted.max())]
        ax.plot(ends, ends, color=GREY, linewidth=0.8, zorder=0)
        if y.var() > 0:
            set_title(ax, f"R² = {1 - np.mean((y - predicted) ** 2) / y.var():.3f}")
    ax.set(xlabel="true", ylabel="predicted", aspect="equal")
    return ax


def calibration(
    y: Any,
    probabilities: Any,
    *,
    classes: Any = None,
    pos_label: Any = None,
    n_bins: int = 10,
    ax: "Axes | None" = None,
) -> "Axes":
    """Reliability diagram: accuracy against the probability of the likeliest class; larger dots are more samples.

    Parameters
    ----------
    y, probabilities, classes, n_bins
        As in :func:`lspin.metrics.expected_calibration_error`.
    pos_label
        The event, such as ``model.pos_label_``. With it, the diagram shows how often the event happened against
        its probability.
    ax
        Axes to draw on.

    Returns
    -------
    Axes
        The axes that were drawn on.
    """
    settings = {"classes": classes, "n_bins": n_bins, "pos_label": pos_label}
    error = expected_calibration_error(y, probabilities, **settings)
    bins, sure, is_right = bin_by_confidence(y, probabilities, **settings)
    words = {"xlabel": f"probability of {pos_label}", "ylabel": f"share that is {pos_label}"}
    least = 0.0
    if pos_label is None:
        words = {"xlabel": "probability of the likeliest class", "ylabel": "share that is right"}
        least = 1 / max(np.shape(probabilities), np.shape(y), key=len)[1]
    counts = np.bincount(bins, minlength=n_bins)
    used = np.flatnonzero(counts)
    confidence, accuracy = (np.bincount(bins, part, n_bins)[used] / counts[used] for part in (sure, is_right))
    spread = np.sqrt(accuracy * (1 - accuracy) / counts[used])
    ax = take_axes(ax, 3.8, 3.8)
    ax.plot([least, 1], [least, 1], color=GREY, linewidth=0.8, zorder=0)
    ax.errorbar(confidence, accuracy, yerr=spread, color=DOWN, linewidth=1, capsize=2)
    ax.scatter(confidence, accuracy, s=20 + 180 * counts[used] / counts.sum(), color=DOWN, clip_on=False)
    ax.set(ylim=(-0.03, 1.03), **words)
    set_title(ax, f"expected calibration error {error:.3f}")
    return ax
