"""Explanations of parts of a table as one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lspin.explanation.record import Explanation

PER_ROW = ("sample_names", "scores", "methods")
PER_GATE = ("columns", "open_gates", "open_confidence", "open_contributions")


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
