"""The command ``lspin compare``: a leaderboard of methods on a table in a file."""

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from lspin.cli.arguments import (
    DropOption,
    EscapeOption,
    EventOption,
    IdOption,
    JobsOption,
    JsonOption,
    PositiveOption,
    QuietOption,
    TableArgument,
    TargetOption,
    Task,
    TaskOption,
    TimeOption,
    check_arguments,
    check_target,
    split_methods,
)
from lspin.cli.output import read_aloud, say, say_remarks, say_replaced, say_written, show, show_columns, show_json

# All else is imported where it is needed, so that help does not wait for it.


def compare(
    table: TableArgument,
    target: TargetOption = None,
    task: TaskOption = Task.auto,
    time: TimeOption = None,
    event: EventOption = None,
    positive: PositiveOption = None,
    methods: Annotated[
        str,
        typer.Option(metavar="NAMES", help="Methods, commas between; all, or familiar for all but the rivals."),
    ] = "all",
    tune: Annotated[
        bool,
        typer.Option("--tune/--no-tune", help="Whether rivals and trees choose their settings, as lspin does."),
    ] = True,
    folds: Annotated[int, typer.Option(min=2, metavar="N", help="Parts that are held out one by one.")] = 5,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write the table: .csv, .tsv, .parquet, .xlsx; - for CSV.",
        ),
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(
            "--figure",
            metavar="FILE",
            help="Where to draw it: .png, .svg or .pdf (needs lspin\\[plots]).",
        ),
    ] = None,
    id_column: IdOption = None,
    drop: DropOption = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the folds and of all methods.")] = 0,
    jobs: JobsOption = 1,
    escape: EscapeOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Judge lspin, its rivals and familiar models on the same folds of a table."""
    check_target(target, task, time, event)
    from lspin.cli.writing import check_output, check_writable, write_frame
    from lspin.intake.table import read_parts

    if output is not None:
        say_replaced(output, check_output(output, reads=[table]), quiet)
    if figure is not None:
        say_replaced(figure, check_writable(figure, reads=[table]), quiet)
    check_arguments(None, table)
    source = read_aloud(table, quiet)
    outcome, chosen = read_parts(
        source,
        target,
        time=time,
        event=event,
        task=task.value,
        id_column=id_column,
        drop=drop or (),
        positive=positive,
    )
    say_remarks([*outcome.remarks, *chosen.remarks], quiet)
    from lspin.comparison.board import compare as judge
    from lspin.fitting.ensemble import FitInterruptedWarning

    n_rows, n_columns = chosen.X.shape
    say(f"Comparing on {n_rows:,} rows x {n_columns:,} features in {folds} folds.", quiet=quiet)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FitInterruptedWarning)
        board = judge(
            chosen.X,
            outcome.target,
            task=outcome.task,
            methods=split_methods(methods),
            n_folds=folds,
            pos_label=outcome.pos_label,
            tunes=tune,
            n_jobs=jobs,
            random_state=seed,
            verbose=int(not quiet),
        )
    for text in dict.fromkeys(str(one.message) for one in caught if one.category is FitInterruptedWarning):
        say(f"{text[0].upper()}{text[1:]}.")
    for name, reason in board.failed.items():
        say(f"  ! Warning: {name} failed: {reason}")
    if figure is not None:
        _draw(board, figure)
        say(f"Drew it to {figure}.", quiet=quiet)
    if as_json:
        show_json({"task": board.task, **board.describe()})
    elif output is None or str(output) != "-":
        show_board(board)
    if output is not None:
        frame = board.frame.reset_index()
        write_frame(frame, output, digits=6, escapes=escape)
        say_written(output, len(frame), "methods", quiet)


def show_board(board: Any) -> None:
    """Show methods in columns, the best first."""
    head = ("", *(metric.name for metric in board.metrics), "features", "calibration error", "seconds")
    rows = [head]
    for name, row in board.frame.iterrows():
        scores = [
            f"{row[m.key]:.3f} ({row[f'{m.key}_lower']:.3f} to {row[f'{m.key}_upper']:.3f})" for m in board.metrics
        ]
        error = row["calibration_error"]
        shown = "-" if error != error else f"{error:.3f}"
        rows.append((str(name), *scores, f"{row['n_features']:g}", shown, f"{row['seconds']:.1f}"))
    show()
    show_columns(rows)
    show(board.how)


def _draw(board: Any, path: Path) -> None:
    from lspin.plots import leaderboard

    figure: Any = leaderboard(board).figure
    figure.savefig(path, dpi=150)
