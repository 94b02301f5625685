"""Small tables, drawn or made by hand, and rows that are taken as they are."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lspin.tables.grid import Rows, gather
from lspin.tables.reading import read_table

drawn = settings(max_examples=60)

small_tables = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        arrays(np.float64, (n, 2), elements=st.sampled_from([0.0, -0.0, 1.0, 2.0, np.nan])),
        arrays(np.int64, n, elements=st.integers(0, 1)),
        arrays(np.float64, n, elements=st.integers(1, 4).map(float)),
        st.permutations(range(n)),
    )
)


def as_nan(table):
    """Values of a table without categorical columns, NaN where missing."""
    table = gather(table)
    values = np.array(table.values)
    if table.missing is not None:
        values[table.missing] = np.nan
    return values


def rows_of(values, weight=None, target=None):
    """Rows that are taken as they are: not merged, not reordered."""
    n = values.shape[0]
    table, _ = read_table(values)
    return Rows(
        table,
        np.arange(n) if target is None else np.asarray(target),
        np.ones(n) if weight is None else np.asarray(weight, float),
        np.arange(n),
    )


def rows_with(target, weight=None):
    """Rows of one column, with these targets."""
    return rows_of(np.arange(len(target), dtype=float)[:, None], weight, target)
