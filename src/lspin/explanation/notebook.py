"""An explanation as a notebook shows it: the first samples, and what the strongest features add to each."""

import html
from typing import Any

import numpy as np

from lspin.targets.verdicts import word_number

MOST_SAMPLES = 10
MOST_FEATURES = 6  # of a sample
RAISES, LOWERS = "#D55E00", "#0072B2"  # as in the figures
WIDEST = 60  # pixels of a bar


def as_html(explanation: Any) -> str:
    """A table with one row for each of the first samples: prediction, and the features behind it with bars."""
    n_samples = len(explanation.sample_names)
    shown = range(min(MOST_SAMPLES, n_samples))
    largest = np.abs(explanation.open_contributions).max(initial=0.0)
    rows = "".join(_row(explanation, sample, largest) for sample in shown)
    head = "<tr><th>sample</th><th>prediction</th><th style='text-align:left'>strongest features</th></tr>"
    what = "the likeliest class" if explanation.n_outputs > 1 else explanation.kind.name_output(0)
    more = f", the first {len(shown)} of {n_samples:,} samples" if n_samples > len(shown) else ""
    said = f"What each feature adds to the {what} (orange raises, blue lowers){more}"
    return f"<p>{html.escape(said)}</p><table>{head}{rows}</table>"


def _row(explanation: Any, sample: int, largest: float) -> str:
    output = int(explanation.scores[sample].argmax())
    first, last = np.searchsorted(explanation.rows, [sample, sample + 1])
    added = explanation.open_contributions[first:last, output]
    order = np.argsort(-np.abs(added), kind="stable")
    parts = [_feature(explanation, first + place, added[place], largest) for place in order[:MOST_FEATURES]]
    if len(order) > MOST_FEATURES:
        rest = float(added[order[MOST_FEATURES:]].sum())
        parts.append(f"{len(order) - MOST_FEATURES} others {rest:+.2f}")
    name, said = explanation.sample_names[sample], explanation.kind.say(explanation.scores[sample])
    told = "<br>".join(parts) or "no feature"
    return (
        f"<tr style='vertical-align:top'><th>{html.escape(str(name))}</th><td>{html.escape(said)}</td>"
        f"<td style='text-align:left'>{told}</td></tr>"
    )


def _feature(explanation: Any, entry: int, added: float, largest: float) -> str:
    value = explanation.open_values[entry]
    shown = value if isinstance(value, str) else word_number(value, 4)
    name = explanation.feature_names[explanation.columns[entry]]
    width = round(WIDEST * abs(added) / largest) if largest > 0 else 0
    bar = (
        f"<span style='display:inline-block;height:.7em;width:{width}px;"
        f"background:{RAISES if added >= 0 else LOWERS}'></span>"
    )
    number = f"<span style='display:inline-block;width:4em;text-align:right'><b>{added:+.2f}</b></span>"
    place = f"<span style='display:inline-block;width:{WIDEST}px'>{bar}</span>"
    return f"{number} {place} {html.escape(f'{name} = {shown}')}"
