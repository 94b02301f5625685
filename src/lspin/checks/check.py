"""All checks of a table and its target."""

from typing import Any

import numpy as np
import pandas as pd

from lspin.checks.findings import FEWEST_ROWS, Checks, Finding, classes_of, read_for_checks
from lspin.checks.oddities import find_codes, find_copies, find_later, find_spellings
from lspin.checks.strengths import find_leaks, list_strongest, name_best, score_columns
from lspin.fitting.progress import Progress
from lspin.targets import KINDS, Kind

N_CHECKS = 6
LATE = "It was left out, but other columns may be recorded as late: leave these out too"


def check_table(
    X: Any,
    y: Any,
    *,
    kind: Kind | None = None,
    target_name: str = "y",
    test: Any = None,
    fewest: int = 1,
    verbose: int = 0,
) -> Checks:
    """Look for what makes a model too good to be true, or its data other than they seem.

    Parameters
    ----------
    X, y
        Table and target. Columns of a frame may hold text and dates.
    kind
        Of the target; by default survival times if ``y`` is a structured array, classes if it has text or at most
        ten values, else a response.
    target_name
        Name of the target in the texts.
    test
        Other rows that a model is to be judged by, to see whether they are among the first.
    fewest
        Smallest number of rows that is told; smaller ones are "fewer than".
    verbose
        1 shows progress and the time left.

    Returns
    -------
    Checks
        The findings, and the columns that predict best alone.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from lspin.checks import check_table
    >>> y = np.where(np.arange(40) % 2, "ill", "well")
    >>> X = pd.DataFrame({"age": np.arange(40) % 7, "code": np.arange(40) % 2})
    >>> check_table(X, y).findings[0].text
    "column 'code' alone predicts 'y' perfectly; is it known before the outcome?"

    """
    table = read_for_checks(X, fewest)
    kind = guess_kind(y) if kind is None else kind
    findings, best = [], None
    strongest: tuple[tuple[str, float], ...] = ()
    with Progress(N_CHECKS, shown=verbose > 0, unit="data checks") as progress:
        if len(y) >= FEWEST_ROWS:
            strengths, measure = score_columns(table, y, kind)
            best, strongest = name_best(table, strengths, measure), list_strongest(table, strengths, measure)
            progress.finish_fit()
            findings += find_leaks(table, y, kind, strengths, measure, target_name)
            progress.finish_fit()
            known = {name for finding in findings for name in finding.columns}
            findings += find_later(table, classes_of(y, kind), known)
            progress.finish_fit()
        findings += find_copies(table, y, test)
        progress.finish_fit()
        findings += find_codes(table)
        progress.finish_fit()
        findings += find_spellings(table, y)
        progress.finish_fit()
    return Checks(findings, best, strongest)


def check_left_out(left_out: pd.DataFrame, y: Any, *, kind: Kind | None = None) -> list[Finding]:
    """Columns, of any type, that a model does not get and that are filled in one class only, or with the event.

    Other columns may be recorded as late as they are.
    """
    if len(y) < FEWEST_ROWS or left_out.shape[1] == 0:
        return []
    is_filled = left_out.notna().astype(np.float64).replace(0.0, np.nan)
    kind = guess_kind(y) if kind is None else kind
    found = find_later(read_for_checks(is_filled), classes_of(y, kind), set())
    return [*found[:-1], *(finding._replace(text=f"{finding.text} {LATE}") for finding in found[-1:])]


def guess_kind(y: Any) -> Kind:
    """The kind of a target, by what it looks like."""
    values = np.asarray(y)
    if values.dtype.names:
        return KINDS["survive"]()
    is_number = values.dtype.kind in "iuf"
    return KINDS["regress" if is_number and len(np.unique(values)) > 10 else "classify"]()
