"""What a model rests on over many samples: one row for each feature, by group where groups were found."""

import html
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lspin.explanation.record import Explanation
from lspin.tables.reading import Levels
from lspin.targets.intervals import wilson_interval
from lspin.targets.kind import Kind, ratio_of

MOST_FEATURES = 500  # of a group that are described, the most important
LEAST_SHARE = 0.05  # of a group's samples that select a feature, where there are several groups
CLEAR_TREND = 0.5  # correlation of value and contribution from which a feature raises or lowers
MOST_SHOWN = 20  # features of a group in print
RAISES, LOWERS, EITHER, BY_LEVEL = "raises", "lowers", "either way", "by level"


class Line(NamedTuple):
    """A feature in a group of samples, as a model's file holds it."""

    group: int
    size: int  # samples of the group
    feature: int  # column of the table
    share: float  # of the group's samples that select it
    importance: float  # mean absolute contribution over the group's samples
    direction: str
    low: float  # values between which the effect is measured; codes of levels
    high: float
    effect: float  # change of the score from low to high
    n_found: int  # members that select it in the group


def list_lines(
    explanation: Explanation, groups: np.ndarray, found: np.ndarray, levels: Levels, weight: np.ndarray
) -> pd.DataFrame:
    """Describe each feature in each group of the explained samples.

    Parameters
    ----------
    explanation
        Explained samples.
    groups
        Number of each sample's group, shape ``(n,)``.
    found
        How many members select each feature in each group, shape ``(n_groups, n_features)``.
    levels
        Levels of the categorical columns.
    weight
        How often each sample counts, shape ``(n,)``.

    """
    numbers = np.unique(groups)
    lines = []
    for group in numbers:
        inside = groups == group
        total = weight[inside].sum()
        entries = np.flatnonzero(inside[explanation.rows])
        counts = weight[explanation.rows[entries]]
        columns, n_columns = explanation.columns[entries], len(explanation.feature_names)
        share = np.bincount(columns, counts, n_columns) / total
        sizes = np.abs(explanation.open_contributions[entries]).sum(axis=1)
        importance = np.bincount(columns, counts * sizes, n_columns) / total
        least = LEAST_SHARE if len(numbers) > 1 else 0.0
        listed = [c for c in np.argsort(-importance, kind="stable")[:MOST_FEATURES] if share[c] > least]
        order = entries[np.argsort(columns, kind="stable")]
        bounds = np.searchsorted(explanation.columns[order], np.stack([listed, np.add(listed, 1)]).astype(int))
        for column, first, last in zip(listed, *bounds, strict=True):
            told = _tell(explanation, order[first:last], levels.get(int(column)), weight)
            lines.append(
                Line(
                    int(group),
                    int(inside.sum()),
                    int(column),
                    float(share[column]),
                    float(importance[column]),
                    *told,
                    int(found[group, column]),
                )
            )
    return pd.DataFrame(lines, columns=list(Line._fields))


def _tell(
    explanation: Explanation, entries: np.ndarray, levels: tuple | None, weight: np.ndarray
) -> tuple[str, float, float, float]:
    """Direction of a feature, and its effect from a low to a high value, by the samples that select it."""
    contributions = explanation.open_contributions[entries]
    output = int(np.abs(contributions).sum(axis=0).argmax())
    added, counts = contributions[:, output], weight[explanation.rows[entries]]
    values = explanation.open_values[entries]
    if levels is not None:
        told = _tell_levels(np.array([levels.index(value) for value in values]), added, counts)
    else:
        told = _tell_numbers(values.astype(np.float64), added, counts)
    if explanation.n_outputs > 1:
        return str(explanation.output_names[output]), *told[1:]
    return told


def _tell_levels(codes: np.ndarray, added: np.ndarray, counts: np.ndarray) -> tuple[str, float, float, float]:
    """From the level with the lowest to the one with the highest mean contribution; of one level, what it adds."""
    present = np.unique(codes)
    means = np.array([np.average(added[codes == code], weights=counts[codes == code]) for code in present])
    low, high = means.argmin(), means.argmax()
    if len(present) == 1:
        return (RAISES if means[0] > 0 else LOWERS), np.nan, float(present[0]), float(means[0])
    return BY_LEVEL, float(present[low]), float(present[high]), float(means[high] - means[low])


def _tell_numbers(values: np.ndarray, added: np.ndarray, counts: np.ndarray) -> tuple[str, float, float, float]:
    """From the lower to the upper quartile, along the straight line that fits the contributions best.

    Of two distinct values, from one to the other; of one, what it adds.
    """
    mean = np.average(added, weights=counts)
    if values.min() == values.max():
        return (RAISES if mean > 0 else LOWERS), np.nan, float(values[0]), float(mean)
    is_binary = len(np.unique(values)) == 2
    low, high = (values.min(), values.max()) if is_binary else np.quantile(values, [0.25, 0.75])
    apart, change = values - np.average(values, weights=counts), added - mean
    spread = np.average(apart**2, weights=counts)
    slope = np.average(apart * change, weights=counts) / spread if spread > 0 else 0.0
    size = np.sqrt(spread * np.average(change**2, weights=counts))
    trend = slope * spread / size if size > 0 else 0.0
    direction = EITHER if abs(trend) < CLEAR_TREND else RAISES if trend > 0 else LOWERS
    return direction, float(low), float(high), float(slope * (high - low))


@dataclass(frozen=True, repr=False, eq=False)
class Summary:
    """What a model rests on: ``print`` it, or take its :attr:`frame`.

    ``frame`` has one row for each feature, or for each group and feature if there are several groups:

    - ``share``: part of the samples that select the feature;
    - ``importance``: mean absolute contribution over all samples;
    - ``direction``: whether high values raise or lower the score (of several classes, the class it speaks of);
    - ``low``, ``high``: quartiles of the values of the samples that select it, or its only two values; of a
      category, the levels with the lowest and the highest contribution; of one value, ``low`` is missing;
    - ``effect``: change of the score from ``low`` to ``high``, or what the one value adds; ``odds_ratio``,
      ``hazard_ratio`` or ``rate_ratio``: its exponential;
    - ``members``, ``frequency``, ``lower``, ``upper``: how many members select the feature, as a share with
      Wilson's 95 % interval. These columns exist if there are several members.
    """

    frame: pd.DataFrame
    title: str
    note: str
    group_sizes: dict[int, int]
    ratio: str | None  # name of the column of ratios
    told: str  # what the direction is called: "direction", or "class"

    def __repr__(self) -> str:
        parts = [self.title]
        if len(self.frame) == 0:
            parts.append("No feature is selected: the prediction is the same for every sample.")
        elif self.frame.index.nlevels == 1:
            parts += self._print(self.frame)
        else:
            for group, size in self.group_sizes.items():
                parts += [
                    f"\ngroup {group} ({size:,} samples)",
                    *self._print(self.frame.loc[[group]].droplevel(0)),
                ]
        return "\n".join([*parts, self.note])

    def _repr_html_(self) -> str:
        shown = self._as_text(self.frame).to_html(border=0)
        return f"<p>{html.escape(self.title)}</p>{shown}<p><small>{html.escape(self.note)}</small></p>"

    def _print(self, part: pd.DataFrame) -> list[str]:
        head = part.head(MOST_SHOWN)
        more = len(part) - len(head)
        lines = [self._as_text(head).to_string(index_names=False)]
        return [*lines, f"and {more} more features: see .frame"] if more else lines

    def _as_text(self, part: pd.DataFrame) -> pd.DataFrame:
        """The columns that people read, with few digits."""
        shown = {
            "used by": [_word_share(share) for share in part["share"]],
            self.told: part["direction"],
            "from": [_word(value) for value in part["low"]],
            "to": [
                f"always {_word(high)}" if is_alone else _word(high)
                for high, is_alone in zip(part["high"], _are_alone(part), strict=True)
            ],
            "effect": [_word(value, sign="+") for value in part["effect"]],
        }
        if self.ratio is not None:
            shown[self.ratio.replace("_", " ")] = [_word(value) for value in part[self.ratio]]
        if "members" in part:
            intervals = zip(part["frequency"], part["lower"], part["upper"], strict=True)
            shown["members (95 % interval)"] = [f"{a:.0%} ({b:.0%} to {c:.0%})" for a, b, c in intervals]
        return pd.DataFrame(shown, index=part.index)


def make_summary(
    lines: pd.DataFrame,
    *,
    title: str,
    kind: Kind,
    names: Any,
    levels: Levels,
    n_members: int,
    n_rows: tuple[int, int],
) -> Summary:
    """A summary from the lines of :func:`list_lines`, with names in the place of positions.

    ``n_rows`` says how many samples were explained, and of how many.
    """
    columns = lines["feature"].to_numpy(int)
    frame = pd.DataFrame(
        {
            "group": lines["group"].to_numpy(int) + 1,
            "feature": [names[column] for column in columns],
            **{name: lines[name].to_numpy() for name in ("share", "importance", "direction")},
            **{
                end: [_name_level(v, levels.get(c)) for c, v in zip(columns.tolist(), lines[end], strict=True)]
                for end in ("low", "high")
            },
            "effect": lines["effect"].to_numpy(float),
        }
    )
    ratio = None if kind.ratio is None or kind.n_outputs > 1 else kind.ratio.replace(" ", "_")
    if ratio is not None:
        frame[ratio] = ratio_of(frame["effect"])
    if n_members > 1:
        found = lines["n_found"].to_numpy(int)
        intervals = np.array([wilson_interval(n, n_members) for n in found.tolist()]).reshape(-1, 3)
        frame = frame.assign(members=found, **dict(zip(("frequency", "lower", "upper"), intervals.T, strict=True)))
    sizes = dict(zip(frame["group"], lines["size"].astype(int), strict=True))
    index = ["group", "feature"] if len(sizes) > 1 else ["feature"]
    frame = frame.set_index(index)[[name for name in frame if name not in ("group", "feature")]]
    return Summary(
        frame,
        title,
        _note(kind, n_rows, frame),
        sizes,
        ratio,
        "class" if kind.n_outputs > 1 else "direction",
    )


def _are_alone(frame: pd.DataFrame) -> np.ndarray:
    """Lines of features that have one value in all samples of the group that use them."""
    return np.asarray(frame["low"].isna() & frame["high"].notna())


def _note(kind: Kind, n_rows: tuple[int, int], frame: pd.DataFrame) -> str:
    shown, given = n_rows
    some = f"{shown:,} samples" if shown == given else f"{shown:,} of {given:,} samples"
    if frame.empty:
        return f"By {some}."
    what = "the score of the class" if kind.n_outputs > 1 else kind.name_output(0)
    alone = ' With one value only ("always"): what it adds.' if _are_alone(frame).any() else ""
    return f"Effect: change of {what} between the quartiles of the samples that use the feature.{alone} By {some}."


def _name_level(value: float, levels: tuple | None) -> Any:
    return value if levels is None or np.isnan(value) else levels[int(value)]


def _word(value: Any, sign: str = "") -> str:
    if isinstance(value, str) or value != value:
        return value if isinstance(value, str) else ""
    return f"{value:{sign},.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:{sign}.3g}"


def _word_share(share: float) -> str:
    return "<1%" if share < 0.01 else f"{share:.0%}"
