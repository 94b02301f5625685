"""A file as a table to learn from, for the command line and for Python."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lspin.intake.columns import Features, choose_features
from lspin.intake.files import Source, read_source
from lspin.intake.outcomes import Outcome, name_event, read_outcome, read_survival_outcome
from lspin.intake.remarks import Ask, as_argument, as_option


class Table(NamedTuple):
    """A table that was read from a file."""

    X: pd.DataFrame  # numbers and categories; its index are the names of the samples
    y: np.ndarray  # classes, numbers, or a structured array of times and events
    task: str  # "classify", "regress", "count" or "survive"
    remarks: list[str]  # what was noticed, warnings last
    pos_label: Any = None  # the event, if there are two classes
    left_out: pd.DataFrame | None = None  # other columns of these rows, for the data checks of a report


def read_table(
    path: str | Path,
    target: str | None = None,
    *,
    time: str | None = None,
    event: str | None = None,
    task: str = "auto",
    id_column: str | None = None,
    drop: str | Sequence[str] = (),
    positive: str | None = None,
) -> Table:
    """Read a table from a file as the command line does, ready for ``fit``.

    Parameters
    ----------
    path
        CSV, TSV, Parquet, Excel or .h5ad file.
    target
        Column to predict.
    time, event
        Instead of a target: columns of times, and of whether the event happened (or ``"column=value"``).
    task
        ``"classify"``, ``"regress"`` or ``"count"``; ``"auto"`` looks at the target.
    id_column
        Column that names the samples; by default the first of identifiers that tells all rows apart.
    drop
        Column or columns to leave out.
    positive
        The event, one of two classes, as the file has it. By default the one whose word says that something
        happened (yes, 1, died, malignant), else the last in order; the remarks say which.

    Returns
    -------
    Table
        ``X`` and ``y`` of the rows whose target is known, ``task``, ``remarks``, ``pos_label`` and ``left_out``.

    Notes
    -----
    Numbers are read cell by cell in the notation of the file. Text of few values becomes a category; dates, free
    text, identifiers and constant columns are left out. The remarks say what was done, and what the checks of
    :func:`lspin.checks.check_table` found.

    Examples
    --------
    >>> import lspin
    >>> table = lspin.read_table("patients.csv", target="diagnosis")
    >>> model = lspin.LSPINClassifier(pos_label=table.pos_label, random_state=0).fit(table.X, table.y)

    """
    source = read_source(path)
    outcome, features = read_parts(
        source,
        target,
        time=time,
        event=event,
        task=task,
        id_column=id_column,
        drop=[drop] if isinstance(drop, str) else drop,
        positive=positive,
        ask=as_argument,
    )
    remarks = sorted((*outcome.remarks, *features.remarks), key=lambda remark: remark.is_warning)
    texts = [*source.remarks, *(remark.text for remark in remarks)]
    return Table(features.X, outcome.target, outcome.task, texts, outcome.pos_label, features.left_out)


def read_parts(
    source: Source,
    target: str | None,
    *,
    time: str | None,
    event: str | None,
    task: str,
    id_column: str | None,
    drop: Sequence[str],
    positive: str | None = None,
    ask: Ask = as_option,
) -> tuple[Outcome, Features]:
    """What is to be predicted and what from; columns that are not there are errors.

    Advice names settings as ``ask`` words them.
    """
    if (target is None) == (time is None) or (time is None) != (event is None):
        raise ValueError("name the target, or both time and event")
    if time is not None and event is not None:
        outcome = read_survival_outcome(source.frame, time, event, notation=source.notation, ask=ask)
    else:
        outcome = read_outcome(source.frame, str(target), task, notation=source.notation, ask=ask)
    outcome = name_event(outcome, positive, ask)
    return outcome, choose_features(source, outcome, id_name=id_column, dropped=drop, ask=ask)
