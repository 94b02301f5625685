"""The command ``lspin fit``: a table in a file becomes a model in a file."""

from pathlib import Path
from typing import Annotated

import typer

from lspin.cli.arguments import (
    DropOption,
    EventOption,
    ForceOption,
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
)
from lspin.cli.output import read_aloud, say, say_remarks, say_replaced, show_fit, show_json, told_if_possible

# All else is imported where it is needed, so that help does not wait for it.


def fit(
    table: TableArgument,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write the model.")],
    target: TargetOption = None,
    task: TaskOption = Task.auto,
    time: TimeOption = None,
    event: EventOption = None,
    positive: PositiveOption = None,
    features: Annotated[
        int | None,
        typer.Option("--features", "-n", min=1, metavar="N", help="Features per sample; chosen if not given."),
    ] = None,
    panel: Annotated[
        int | None,
        typer.Option(min=1, metavar="K", help="Columns that all samples together may use; all if not given."),
    ] = None,
    id_column: IdOption = None,
    drop: DropOption = None,
    context: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="Columns that gates look at, commas between; all if not given."),
    ] = None,
    context_only: Annotated[
        bool, typer.Option("--context-only", help="Do not predict from the columns of --context.")
    ] = False,
    members: Annotated[int, typer.Option(min=1, metavar="N", help="Models to average.")] = 1,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="The same seed gives the same model.")] = 0,
    jobs: JobsOption = 1,
    epochs: Annotated[int | None, typer.Option(hidden=True, min=1)] = None,
    sparsity: Annotated[float | None, typer.Option(hidden=True, min=0)] = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Fit a model on a table, and write it to a file."""
    check_target(target, task, time, event)
    if context_only and not context:
        raise typer.BadParameter("--context-only is about the columns of --context: name them")
    from lspin.cli.writing import MODEL, check_writable
    from lspin.intake.columns import find_context
    from lspin.intake.table import read_parts

    say_replaced(output, check_writable(output, reads=[table], kind=MODEL, force=force), quiet)
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
    remarks = [*outcome.remarks, *chosen.remarks]
    say_remarks(remarks, quiet)
    seen = find_context(context, chosen, source.frame.columns) if context else None
    from lspin.cli.workflow import fit_table

    n_rows, n_columns = chosen.X.shape
    say(
        f"Fitting on {n_rows:,} rows x {n_columns:,} features; Ctrl-C stops and keeps the best so far.",
        quiet=quiet,
    )
    settings = {
        "n_features": features,
        "n_panel": panel,
        "sparsity": "auto" if sparsity is None else sparsity,
        "max_epochs": epochs,
        "n_members": members,
        "n_jobs": jobs,
        "zero_is_absent": source.zero_is_absent,
        "context": seen,
        "context_only": context_only,
        "random_state": seed,
        "verbose": int(not quiet),
    }
    fitted = fit_table(chosen, outcome, settings, lambda text: say(text, quiet=quiet))
    say_remarks(fitted.remarks, quiet)
    fitted.estimator.save(output)
    if fitted.cut_short is not None:
        say(f"{fitted.cut_short[0].upper()}{fitted.cut_short[1:]}.")
    result = fitted.summary | {
        "file": str(output),
        "interrupted": fitted.cut_short is not None,
        "kept": fitted.cut_short,
        "remarks": [remark.text for remark in (*remarks, *fitted.remarks)],
    }
    with told_if_possible(output):
        if as_json:
            show_json(result)
        else:
            show_fit(result)
