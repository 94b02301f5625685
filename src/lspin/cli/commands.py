"""The command ``lspin``: fit a model on a table in a file, use it on another, and show what it rests on."""

import os
import signal
import sys
import textwrap
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from lspin.cli.output import (
    context_lines,
    explanation_as_dict,
    read_aloud,
    say,
    say_remarks,
    say_replaced,
    say_written,
    score_lines,
    show,
    show_fit,
    show_json,
    show_overview,
    show_path,
    show_sample,
    told_if_possible,
)

# All else is imported where it is needed, so that help does not wait for it.


class Task(StrEnum):
    """What is to be predicted."""

    auto = "auto"
    classify = "classify"
    regress = "regress"
    counts = "count"
    survive = "survive"


class PlainGroup(TyperGroup):
    """Commands that fail with one sentence instead of a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; what is wrong with a file or a model ends it with 1, an interrupt with 130."""
        try:
            with ending_in_order():
                return super().invoke(ctx)
        except BrokenProcessPool as error:
            if os.environ.get("LSPIN_DEBUG"):
                raise
            say("Error: a worker process was killed, perhaps for want of memory; try fewer at a time: --jobs 1")
            raise typer.Exit(1) from error
        except KeyboardInterrupt as error:
            before = " before any model was finished" if str(error) else ""
            say(f"Interrupted{before}. Nothing was written.")
            raise typer.Exit(130) from error
        except BrokenPipeError:
            raise  # the reader of our output has seen enough
        except (OSError, ValueError, TypeError, ImportError, MemoryError) as error:
            if os.environ.get("LSPIN_DEBUG"):
                raise
            say(f"Error: {_sentence(error)}")
            raise typer.Exit(1) from error


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Let a request to end (SIGTERM) unwind as an exit does, so that workers and shared memory go too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error) or f"out of memory ({type(error).__name__})"


app = typer.Typer(
    cls=PlainGroup,
    help="Locally sparse models of tables: every prediction with the few features behind it.",
    epilog="Start with: lspin fit patients.csv --target diagnosis -o model.lspin",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

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


def _show_version(asked: bool) -> None:
    if asked:
        import lspin

        show(f"lspin {lspin.__version__}")
        raise typer.Exit


@app.callback()
def begin(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options that need no command."""


@app.command(help="Fit a model on a table, and write it to a file.")
def fit(
    table: TableArgument,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write the model.")],
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="COLUMN", help="Column to predict.")
    ] = None,
    task: Annotated[
        Task, typer.Option(metavar="TASK", help="classify, regress, count or survive; auto looks at the target.")
    ] = Task.auto,
    time: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of times to an event or to censoring.")
    ] = None,
    event: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column that says whether the event happened; or COLUMN=VALUE."),
    ] = None,
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
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column to leave out; may be repeated.")
    ] = None,
    context: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="Columns that gates look at, commas between; all if not given."),
    ] = None,
    context_only: Annotated[
        bool, typer.Option("--context-only", help="Do not predict from the columns of --context.")
    ] = False,
    members: Annotated[int, typer.Option(min=1, metavar="N", help="Models to average.")] = 1,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="The same seed gives the same model.")] = 0,
    jobs: Annotated[int, typer.Option(metavar="N", help="Fits to run side by side; -1 for as many as cores.")] = 1,
    epochs: Annotated[int | None, typer.Option(hidden=True, min=1)] = None,
    sparsity: Annotated[float | None, typer.Option(hidden=True, min=0)] = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Read, prepare, fit, write, tell."""
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


@app.command(help="Predict for the rows of a table: predictions, and the features behind each.")
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
    """One row a sample."""
    times = read_at(at)
    from lspin.cli.writing import check_output, write_frame, write_parts
    from lspin.fitting.progress import Progress
    from lspin.intake.streaming import count_parts, list_parquet, read_parts

    say_replaced(output, check_output(output, reads=[model, table]), quiet)
    from lspin.cli.workflow import open_table, predict_parts, predict_table, score_known

    check_arguments(model, table)
    if files := list_parquet(table):
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


@app.command(help="Say which features the predictions rest on, and what each adds.")
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
    """An overview of all samples, or each given one in full."""
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


@app.command(help="Write a page to read and send: how good, which features, every sample.")
def report(
    model: ModelArgument,
    table: TableArgument,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write the page.")],
    target: Annotated[
        str | None,
        typer.Option(
            "--target", "-t", metavar="COLUMN", help="Column of the target; known from the fit if not given."
        ),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(
            "--test",
            metavar="TABLE",
            help="Rows that the model has not seen, to judge it by; else a quarter of TABLE is set aside.",
        ),
    ] = None,
    id_column: IdOption = None,
    samples: Annotated[
        bool, typer.Option("--samples/--no-samples", help="Whether the page may hold data of single samples.")
    ] = True,
    at: AtOption = None,
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit", metavar="UNIT", help="Of survival times; known from their column's name, if it says."
        ),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            "--compare", metavar="NAMES", help="Add a leaderboard of these methods, as lspin compare makes it."
        ),
    ] = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """One HTML file."""
    times = read_at(at)
    from lspin.cli.workflow import open_table
    from lspin.cli.writing import PAGE, check_writable
    from lspin.reporting import page

    tables = [table] if test is None else [table, test]
    say_replaced(output, check_writable(output, reads=[model, *tables], kind=PAGE, force=force), quiet)
    check_arguments(model, table)
    given, name = [], None
    for path in tables:
        source = read_aloud(path, quiet)
        opened = open_table(model, source, target, id_name=id_column, needs_target=True)
        assert opened.outcome is not None
        say_remarks([*opened.outcome.remarks, *opened.features.remarks], quiet)
        given.append((opened.features.X[opened.outcome.known], opened.outcome.target))
        name = opened.outcome.columns.get("target", opened.outcome.columns.get("event"))
    board = None if compare is None else _compare(opened.estimator, *given[0], compare, quiet)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        page.report(
            opened.estimator,
            *given[0],
            output,
            eval_set=None if test is None else given[1],
            target_name=name,
            shows_samples=samples,
            at=times or None,
            time_unit=unit or opened.time_unit,
            leaderboard=board,
            verbose=int(not quiet),
        )
    for text in dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, UserWarning)):
        say(f"  ! Warning: {text}")
    say(f"Wrote the report to {output}.", quiet=quiet)
    if as_json:
        show_json({"file": str(output), "rows": [len(X) for X, _ in given]})


def _compare(estimator: Any, X: Any, y: Any, methods: str, quiet: bool) -> Any:
    """A leaderboard of methods on the rows that a model was fitted on."""
    from lspin.comparison.board import compare

    say(f"Comparing methods on {len(X):,} rows.", quiet=quiet)
    settings: dict[str, Any] = {"task": estimator.kind_.task, "pos_label": estimator.kind_.event_label}
    return compare(X, y, methods=split_methods(methods), verbose=int(not quiet), **settings)


def split_methods(text: str) -> str | list[str]:
    """Names of methods with commas between, or a word that stands for several."""
    return text if text in ("all", "familiar") else [name.strip() for name in text.split(",")]


@app.command(help="Show what a model file holds: kind, columns, sparsity, scores.")
def info(model: ModelArgument, as_json: JsonOption = False) -> None:
    """All without a table."""
    from lspin.cli.workflow import model_info

    result = model_info(model)
    if as_json:
        show_json(result)
        return
    show(f"{model}: a {result['model']}, written by lspin {result['version']}.")
    for role, name in result["target"].items():
        show(f"{role.capitalize()}: {name}")
    if result["classes"] is not None:
        told = "" if result["positive"] is None else f" (event: {result['positive']})"
        show(f"Classes: {', '.join(map(str, result['classes']))}{told}")
    names = result["columns"]
    show(f"Columns: {len(names):,} ({', '.join(names[:5])}{', …' if len(names) > 5 else ''})")
    for name, levels in result["categories"].items():
        show(f"  {name}: {', '.join(map(str, levels))}")
    for line in context_lines(result):
        show(line)
    if result["id"]:
        show(f"Samples are named by: {result['id']}")
    # A model of groups is what pays for itself up to a price; networks are trained with one.
    show(f"Sparsity: {'up to ' if result['start'] == 'groups' else ''}{result['sparsity']:.3g} a feature")
    for line in score_lines(result):
        show(line)
    show_path(result)


@app.command(help="Fit on real patients: accuracy beside familiar models, three predictions explained.")
def demo() -> None:
    """The same as ``python -m lspin.demo``."""
    from lspin.demo import run

    run()


@app.command(help="List public tables to try, or write one of them to a file.")
def datasets(
    name: Annotated[str | None, typer.Argument(help="One of the tables.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write it: .csv, .tsv, .parquet, .xlsx."),
    ] = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Names and sources; a table is downloaded when it is asked for."""
    from lspin.datasets.originals import CATALOGUE

    if name is None:
        sources = {key: entry.source for key, entry in CATALOGUE.items()}
        if as_json:
            show_json(sources)
            return
        for key, source in sources.items():
            show(textwrap.fill(source, 80, initial_indent=f"  {key:<26}", subsequent_indent=" " * 28))
        show("One of them as a file: lspin datasets metabric -o metabric.csv")
        return
    if output is None:
        raise typer.BadParameter(f"say where to write {name}: -o {name}.csv")
    from lspin.cli.writing import check_output, write_frame

    say_replaced(output, check_output(output), quiet)
    frame, advice = public_frame(name)
    write_frame(frame, output)
    say(f"Wrote {len(frame):,} rows x {frame.shape[1]:,} columns to {output}. {advice}", quiet=quiet)
    if as_json:
        show_json({"file": str(output), "rows": len(frame), "columns": frame.shape[1]})


def public_frame(name: str) -> tuple[Any, str]:
    """A public table as a frame with its target, and how to name the target to ``lspin fit``."""
    import pandas as pd

    from lspin.datasets import load_table

    table = load_table(name)
    values = table.X if not hasattr(table.X, "toarray") else table.X.toarray()
    frame = pd.DataFrame(values, columns=table.feature_names)
    if table.class_names is None:
        target = pd.DataFrame({"time": table.y["time"], "event": table.y["event"].astype(int)})
        return pd.concat([target, frame], axis=1), "Fit with: --time time --event event"
    target = pd.DataFrame({"target": table.class_names[table.y]})
    return pd.concat([target, frame], axis=1), "Fit with: --target target"
