"""Tables ``obs`` and ``var`` of an AnnData object, in memory or, if it was read lazily, on disk."""

from typing import Any

import pandas as pd


def read_annotations(table: Any, columns: list[str] | None = None) -> pd.DataFrame:
    """Some or all columns of a table as a frame in memory."""
    if not hasattr(table, "to_memory"):
        return table if columns is None else table[columns]
    return (table if columns is None else table[columns]).to_memory()


def list_names(table: Any) -> pd.Index:
    """Names of cells or genes; a lazily read table may hold them apart from its index."""
    return getattr(table, "true_index", table.index)
