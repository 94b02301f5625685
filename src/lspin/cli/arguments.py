"""Arguments and options that several commands take, and what is wrong usage of them."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

# All else is imported where it is needed, so that help does not wait for it.


class Task(StrEnum):
    """What is to be predicted."""

    auto = "auto"
    classify = "classify"
    regress = "regress"
    counts = "count"
    survive = "survive"


TableArgument = Annotated[str, typer.Argument(help="CSV, TSV, Parquet, Excel or .h5ad; - for the standard input.")]
ModelArgument = Annotated[Path, typer.Argument(help="A file that lspin fit wrote.")]
IdOption = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="Column that names the samples.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show results and errors only.")]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Replace a file at the output that is of another kind.")
]
EscapeOption = Annotated[
    bool,
    typer.Option("--escape", help="In CSV, put ' before text that a spreadsheet would take for a formula."),
]
TargetOption = Annotated[str | None, typer.Option("--target", "-t", metavar="COLUMN", help="Column to predict.")]
TaskOption = Annotated[
    Task, typer.Option(metavar="TASK", help="classify, regress, count or survive; auto looks at the target.")
]
TimeOption = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Column of times to an event or to censoring.")
]
EventOption = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column that says whether the event happened; or COLUMN=VALUE."),
]
DropOption = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Column to leave out; may be repeated.")
]
JobsOption = Annotated[int, typer.Option(metavar="N", help="Fits to run side by side; -1 for as many as cores.")]
PositiveOption = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="CLASS",
        help="The event, one of two classes; by name (yes, 1, died) if not given.",
    ),
]
AtOption = Annotated[
    str | None,
    typer.Option(
        "--at", metavar="TIMES", help="Times to give risks at, commas between: 12,36,60 (survival only)."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Result as JSON on the standard output.")]


def check_arguments(model: Path | None, table: str) -> None:
    """Raise an error if a model stands where a table is expected; the two are easily swapped."""
    from lspin.cli.writing import MODEL, is_of_kind

    if not (Path(table).is_file() and is_of_kind(table, MODEL)):  # of a pipe, nothing may be read twice
        return
    if model is None:
        raise ValueError(f"{table} is a model, not a table")
    raise ValueError(f"the model comes first, then the table: {table} is a model; write {table} {model}")


def read_at(text: str | None) -> list[float]:
    """The times of ``--at``; what is no list of numbers above 0 is wrong usage."""
    try:
        times = [float(part) for part in (text or "").split(",") if part.strip()]
    except ValueError:
        times = []
    if text is not None and not (times and all(0 < time < float("inf") for time in times)):
        raise typer.BadParameter(f"--at takes times above 0 with commas between, such as 12,36,60; got {text!r}")
    return times


def check_target(target: str | None, task: Task, time: str | None, event: str | None) -> None:
    """Options that do not go together are wrong usage."""
    survives = task is Task.survive or time is not None or event is not None
    if survives and (time is None or event is None):
        raise typer.BadParameter("to predict times, give both --time and --event")
    if survives and (target is not None or task not in (Task.auto, Task.survive)):
        raise typer.BadParameter("--time and --event say what to predict; leave out --target and --task")
    if not survives and target is None:
        raise typer.BadParameter("say what to predict: --target COLUMN, or --time COLUMN --event COLUMN")


def split_methods(text: str) -> str | list[str]:
    """Names of methods with commas between, or a word that stands for several."""
    return text if text in ("all", "familiar") else [name.strip() for name in text.split(",")]
