"""Explanations part by part, with progress, joined to one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lspin.explanation.record import Explanation, explain_table, name_samples
from lspin.fitting.progress import Progress
from lspin.tables.grid import take_grid

ROWS_AT_ONCE = 1000  # that are explained between two signs of progress: a second or two where many gates are open
PER_ROW = ("sample_names", "scores", "methods")
PER_GATE = ("columns", "open_gates", "open_confidence", "open_contributions")


def explain(estimator: Any, X: Any, *, shown: bool = False) -> Explanation:
    """Explain the predictions of a fitted estimator for the rows of a table, some rows at a time.

    Parameters
    ----------
    estimator
        Fitted estimator.
    X
        Table with the columns that the model was fitted on.
    shown
        Whether to show progress and the time left, if the table has more rows than are explained at a time.

    Returns
    -------
    Explanation
        Open gates and contributions of each row.
    """
    table = estimator._read(X)
    names = name_samples(X, table.n_rows)
    starts = range(0, max(table.n_rows, 1), ROWS_AT_ONCE)
    parts = []
    with Progress(len(starts), shown=shown and len(starts) > 1, unit="parts explained") as progress:
        for start in starts:
            rows = slice(start, start + ROWS_AT_ONCE)
            parts.append(explain_table(estimator, take_grid(table, rows), names[rows]))
            progress.finish_fit()
    return join_explanations(parts)


def join_explanations(parts: Sequence[Explanation]) -> Explanation:
    """Explanations of consecutive rows by one model as one explanation of all of them."""
    first = parts[0]
    if len(parts) == 1:
        return first
    sizes = [len(part.sample_names) for part in parts]
    starts = np.cumsum([0, *sizes[:-1]])
    joined: dict[str, Any] = {
        field: np.concatenate([getattr(part, field) for part in parts]) for field in (*PER_ROW, *PER_GATE)
    }
    return replace(
        first,
        **joined,
        rows=np.concatenate([part.rows + start for part, start in zip(parts, starts, strict=True)]),
        open_values=np.concatenate([part.open_values for part in parts]),
        context=None if first.context is None else pd.concat([part.context for part in parts]),
        missing=_join_missing(parts, sizes),
    )


def _join_missing(parts: Sequence[Explanation], sizes: list[int]) -> sp.csr_array | None:
    if all(part.missing is None for part in parts):
        return None
    n_columns = len(parts[0].feature_names)
    filled = [
        sp.csr_array((size, n_columns), dtype=bool) if part.missing is None else part.missing
        for part, size in zip(parts, sizes, strict=True)
    ]
    return sp.csr_array(sp.vstack(filled, format="csr"))
