"""The commands ``lspin predict`` and ``lspin explain``: what a model says of the rows of a table, and why."""

from pathlib import Path
from typing import Annotated

import typer

from lspin.cli.arguments import (
    AtOption,
    EscapeOption,
    IdOption,
    JsonOption,
    ModelArgument,
    QuietOption,
    TableArgument,
    check_arguments,
    read_at,
)
from lspin.cli.output import (
    explanation_as_dict,
    read_aloud,
    say,
    say_remarks,
    say_replaced,
    say_written,
    show_json,
    show_overview,
    show_sample,
)

# All else is imported where it is needed, so that help does not wait for it.


def predict(
    model: ModelArgument,
    table: TableArgument,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to write: .csv, .tsv, .parquet, .xlsx; - shows CSV."
        ),
    ] = Path("-"),
    id_column: IdOption = None,
    at: AtOption = None,
    escape: EscapeOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Predict for the rows of a table: predictions, and the features behind each."""
    times = read_at(at)
    from lspin.cli.writing import check_output, write_frame, write_parts
    from lspin.fitting.progress import Progress
    from lspin.intake.streaming import count_parts, list_parquet, read_parts

    files = list_parquet(table)
    say_replaced(output, check_output(output, reads=[model, table, *files]), quiet)
    from lspin.cli.workflow import open_table, predict_parts, predict_table, score_known

    check_arguments(model, table)
    if files:
        if as_json:
            raise ValueError("--json shows a whole table, and this one is read part by part: use --output")
        frames = predict_parts(model, read_parts(files), id_column, times)
        with Progress(count_parts(files), shown=not quiet, unit="parts predicted") as progress:
            n_rows = write_parts(progress.follow(frames), output, digits=6, escapes=escape)
        say_written(output, n_rows, "predictions", quiet)
        return
    source = read_aloud(table, quiet)
    opened = open_table(model, source, id_name=id_column)
    say_remarks(opened.features.remarks, quiet)
    predictions = predict_table(opened.estimator, opened.features, times, shown=not quiet)
    if known := score_known(opened):
        name, score, n_rows = known
        say(f"The table holds the target too: {name} {score:.3f} on {n_rows:,} rows.", quiet=quiet)
        say("  (Flattering, if the model was fitted on these rows.)", quiet=quiet)
    if as_json:
        show_json(predictions.to_dict("records"))
    if not as_json or str(output) != "-":
        write_frame(predictions, output, digits=6, escapes=escape)
        say_written(output, len(predictions), "predictions", quiet)


def explain(
    model: ModelArgument,
    table: TableArgument,
    sample: Annotated[
        list[str] | None, typer.Option("--sample", "-s", metavar="NAME", help="A sample by its name.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to write a row per sample and feature; - shows CSV."
        ),
    ] = None,
    id_column: IdOption = None,
    escape: EscapeOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say which features the predictions rest on, and what each adds."""
    from lspin.cli.writing import check_output, write_frame

    if output is not None:
        say_replaced(output, check_output(output, reads=[model, table]), quiet)
    from lspin.cli.workflow import open_table, pick_samples
    from lspin.explanation import explain as explain_rows

    check_arguments(model, table)
    source = read_aloud(table, quiet)
    opened = open_table(model, source, id_name=id_column)
    say_remarks(opened.features.remarks, quiet)
    X = opened.features.X
    if sample:
        X, remarks = pick_samples(opened.features, sample)
        say_remarks(remarks, quiet)
    explanation = explain_rows(opened.estimator, X, shown=not quiet)
    frame = explanation.to_frame()
    if as_json:
        show_json(explanation_as_dict(explanation, frame))
    if output is not None:
        write_frame(frame, output, digits=6, escapes=escape)
        say_written(output, len(frame), "rows, one per sample and feature,", quiet)
    elif sample and not as_json:
        for place in range(len(X)):
            show_sample(explanation, place)
    elif not as_json:
        show_overview(explanation)
