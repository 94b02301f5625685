"""Finished runs become a CSV file, and the CSV file a Markdown table with the paper's numbers beside ours."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.protocol import versions
from benchmarks.runs import write_whole

RESULTS = Path(__file__).parent / "results"
KEY = ["method", "dataset", "n_train", "n_columns", "seed"]  # what tells rows of a table apart
NOTHING = "–"


def write_table(name: str, rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Write the rows of an experiment to its CSV file."""
    frame = pd.DataFrame([row | versions() for row in rows])
    write_csv(RESULTS / f"{name}.csv", frame)
    return frame


def write_csv(path: Path, frame: pd.DataFrame) -> None:
    """Six digits are more than any of these numbers deserves."""
    write_whole(path, frame.to_csv(index=False, float_format="%.6g"))


def merge_rows(path: Path, rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Put rows into a CSV file: those of a run done again replace the old ones, all others stay."""
    new = pd.DataFrame(rows)
    if path.exists():
        old = pd.read_csv(path)
        if new.empty:
            return old
        key = [name for name in KEY if name in new and name in old]
        new = pd.concat([new, old]).drop_duplicates(key, keep="first")
    if not new.empty:
        write_csv(path, new)
        new = pd.read_csv(path)  # the same numbers, whether just made or read again
    return new


def keep_common_seeds(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the seeds that every method has; all rows if there is no such seed."""
    n_methods = frame.groupby("seed")["method"].transform("nunique")
    is_common = n_methods == frame["method"].nunique()
    return frame[is_common] if is_common.any() else frame


def format_spread(values: pd.Series, digits: int) -> str:
    """Mean ± standard deviation over the seeds."""
    values = values.dropna()
    if values.empty:
        return NOTHING
    mean, spread = values.mean(), values.std(ddof=0)
    if 0 < abs(mean) < 0.5 * 10**-digits:
        return f"{mean:.1e} ± {spread:.1e}"
    return f"{mean:.{digits}f} ± {spread:.{digits}f}"


def tabulate(
    frame: pd.DataFrame,
    score: str,
    *,
    columns: str,
    digits: int,
    paper: Mapping[tuple[str, Any], float | str] | None = None,
) -> list[str]:
    """A Markdown table of one score: a line a method, a column a case, the paper's number in brackets."""
    paper = paper or {}
    cases = list(dict.fromkeys(frame[columns]))
    if score not in frame:
        return []
    lines = ["| method | " + " | ".join(str(case) for case in cases) + " |", "|---" * (len(cases) + 1) + "|"]
    for method in dict.fromkeys(frame["method"]):
        mine = frame[frame["method"] == method]
        cells = []
        for case in cases:
            printed = paper.get((method, case))
            cell = format_spread(mine.loc[mine[columns] == case, score], digits)
            cells.append(cell if printed is None else f"{cell} (paper {printed})")
        if any(cell != NOTHING for cell in cells):
            lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return lines


def by_cell(printed: Mapping[str, Sequence[float | None]], cases: Sequence[str]) -> dict[tuple[str, str], float]:
    """What a paper prints of each method, in the order of the cases, by method and case; gaps left out."""
    return {
        (method, case): value
        for method, values in printed.items()
        for case, value in zip(cases, values, strict=True)
        if value is not None
    }


def tabulate_scores(
    frame: pd.DataFrame, scores: Mapping[str, int], paper: Mapping[str, Mapping[str, float]]
) -> list[str]:
    """A Markdown table of one case: a line a method, a column a score, the paper's in brackets."""
    lines = ["| method | " + " | ".join(scores) + " |", "|---" * (len(scores) + 1) + "|"]
    for method in dict.fromkeys(frame["method"]):
        mine = frame[frame["method"] == method]
        cells = []
        for score, digits in scores.items():
            printed = paper.get(method, {}).get(score)
            cell = format_spread(mine[score], digits) if score in mine else NOTHING
            cells.append(cell if printed is None else f"{cell} (paper {printed})")
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return lines


def write_markdown(
    path: Path,
    title: str,
    parts: Mapping[str, Sequence[str]],
    frame: pd.DataFrame,
    caption: Sequence[str] | None = None,
) -> None:
    """Tables under their headings, and what they were made with: a caption, or seeds and versions."""
    lines = [f"# {title}", "", *(describe_origin(frame) if caption is None else caption)]
    for heading, table in parts.items():
        if table:
            lines += ["", f"## {heading}", "", *table]
    write_whole(path, "\n".join(lines) + "\n")


def describe_origin(frame: pd.DataFrame) -> list[str]:
    """Seeds and versions, and what brackets mean."""
    return [f"{line} In brackets what the paper prints, one run each." for line in describe_seeds(frame)]


def describe_seeds(frame: pd.DataFrame) -> list[str]:
    """Seeds and versions, so that a half-finished or mixed table says so itself."""
    if "seed" not in frame:
        return []
    seeds = sorted(frame["seed"].unique())
    per_cell = frame.groupby([name for name in KEY if name in frame and name != "seed"], dropna=False).size()
    repeats = f"{per_cell.min()}" if per_cell.min() == per_cell.max() else f"{per_cell.min()} to {per_cell.max()}"
    least = per_cell.groupby("method").min() if "method" in frame else per_cell.iloc[:0]
    fewer = [f"{method} {n}" for method, n in least.items() if n < per_cell.max()]
    return [
        f"Mean ± standard deviation over seeds ({repeats} a cell, of seeds {seeds[0]} to {seeds[-1]}"
        f"{'; fewer: ' + ', '.join(fewer) if fewer else ''}); "
        f"lspin {', '.join(sorted(frame['lspin'].astype(str).unique()))}."
    ]
