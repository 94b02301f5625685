"""The command ``lspin``: fit a model on a table in a file, use it on another, and show what it rests on."""

import json
import os
import sys
import textwrap
import warnings
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

# All else is imported where it is needed, so that help does not wait for it.
if TYPE_CHECKING:
    from lspin.columns import Remark
    from lspin.files import Source

WIDEST = 100  # characters of a line on a terminal


class Task(StrEnum):
    """What is to be predicted."""

    auto = "auto"
    classify = "classify"
    regress = "regress"
    survive = "survive"


class PlainGroup(TyperGroup):
    """Commands that fail with one sentence instead of a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; what is wrong with a file or a model ends it with 1, an interrupt with 130."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            say("Interrupted. Nothing was written.")
            raise typer.Exit(130) from error
        except BrokenPipeError:
            raise  # the reader of our output has seen enough
        except (OSError, ValueError, TypeError, ImportError, MemoryError) as error:
            if os.environ.get("LSPIN_DEBUG"):
                raise
            say(f"Error: {_sentence(error)}")
            raise typer.Exit(1) from error


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
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show results and errors only.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Result as JSON on the standard output.")]


# What is shown -------------------------------------------------------------------------------------------------


def say(text: str, *, quiet: bool = False) -> None:
    """Show a message on the standard error; on a terminal, broken to its width."""
    if quiet:
        return
    if sys.stderr.isatty():
        text = _wrap(text)
    print(text, file=sys.stderr, flush=True)


def _wrap(text: str) -> str:
    width = min(os.get_terminal_size(sys.stderr.fileno()).columns, WIDEST)
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    return textwrap.fill(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def say_source(source: "Source", quiet: bool) -> None:
    """Say what was read."""
    n_rows, n_columns = source.frame.shape
    say(f"Read {source.name}: {n_rows:,} rows x {n_columns:,} columns ({source.form}).", quiet=quiet)
    for text in source.remarks:
        say(f"  - {text}", quiet=quiet)


def say_remarks(remarks: "Iterable[Remark]", quiet: bool) -> None:
    """Say what was noticed, warnings last and even when asked to be quiet."""
    for remark in sorted(remarks, key=lambda remark: remark.is_warning):
        if remark.is_warning:
            say(f"  ! Warning: {remark.text}")
        else:
            say(f"  - {remark.text}", quiet=quiet)


def show(text: str = "") -> None:
    """Show a line of the result on the standard output."""
    sys.stdout.write(f"{text}\n")


def show_json(result: Any) -> None:
    """Show the result as JSON; what is not a number becomes null."""
    sys.stdout.write(json.dumps(_plain(result), ensure_ascii=False, allow_nan=False, indent=2) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if value is None or value != value or value in (float("inf"), -float("inf")) else value


def show_columns(rows: Sequence[tuple[str, ...]], *, left: int = 1) -> None:
    """Show rows in columns, the first few of them flush left; long names are cut in the middle."""
    rows = [(_shorten(row[0], 34), *row[1:]) for row in rows]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        show(("  " + "  ".join(cells)).rstrip())


def _shorten(text: str, width: int) -> str:
    text = "".join(sign if sign.isprintable() else "�" for sign in text)
    half = (width - 1) // 2
    return text if len(text) <= width else f"{text[: width - 1 - half]}…{text[-half:]}"


# Commands ------------------------------------------------------------------------------------------------------


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
        Task, typer.Option(metavar="TASK", help="classify, regress or survive; auto looks at the target.")
    ] = Task.auto,
    time: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of times to an event or to censoring.")
    ] = None,
    event: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column that says whether the event happened; or COLUMN=VALUE."),
    ] = None,
    features: Annotated[
        int | None,
        typer.Option("--features", "-n", min=1, metavar="N", help="Features per sample; chosen if not given."),
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="Column that names the samples.")
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column to leave out; may be repeated.")
    ] = None,
    members: Annotated[int, typer.Option(min=1, metavar="N", help="Models to average.")] = 1,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="The same seed gives the same model.")] = 0,
    jobs: Annotated[int, typer.Option(metavar="N", help="Fits to run side by side; -1 for as many as cores.")] = 1,
    epochs: Annotated[int | None, typer.Option(hidden=True, min=1)] = None,
    sparsity: Annotated[float | None, typer.Option(hidden=True, min=0)] = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Read, prepare, fit, write, tell."""
    survives = _check_target(target, task, time, event)
    from lspin.columns import choose_features, read_outcome, read_survival_outcome
    from lspin.files import check_writable, read_source

    check_writable(output)
    source = read_source(table)
    say_source(source, quiet)
    if survives:
        outcome = read_survival_outcome(source.frame, str(time), str(event))
    else:
        outcome = read_outcome(source.frame, str(target), task.value)
    chosen = choose_features(source, outcome, id_name=id_column, dropped=drop or ())
    remarks = [*outcome.remarks, *chosen.remarks]
    say_remarks(remarks, quiet)
    from lspin.workflow import fit_table

    n_rows, n_columns = chosen.X.shape
    say(
        f"Fitting on {n_rows:,} rows x {n_columns:,} features; Ctrl-C stops and keeps the best so far.",
        quiet=quiet,
    )
    settings = {
        "n_features": features,
        "sparsity": "auto" if sparsity is None else sparsity,
        "max_epochs": epochs,
        "n_members": members,
        "n_jobs": jobs,
        "zero_is_absent": source.zero_is_absent,
        "random_state": seed,
        "verbose": int(not quiet),
    }
    fitted = fit_table(chosen, outcome, settings, lambda text: say(text, quiet=quiet))
    say_remarks(fitted.remarks, quiet)
    fitted.estimator.save(output)
    if fitted.interrupted:
        say("Interrupted: the best model so far was kept.")
    result = fitted.summary | {
        "file": str(output),
        "interrupted": fitted.interrupted,
        "remarks": [remark.text for remark in (*remarks, *fitted.remarks)],
    }
    if as_json:
        show_json(result)
    elif not quiet:
        show_fit(result)


def _check_target(target: str | None, task: Task, time: str | None, event: str | None) -> bool:
    """Whether times are to be predicted; options that do not go together are wrong usage."""
    survives = task is Task.survive or time is not None or event is not None
    if survives and (time is None or event is None):
        raise typer.BadParameter("to predict times, give both --time and --event")
    if survives and (target is not None or task not in (Task.auto, Task.survive)):
        raise typer.BadParameter("--time and --event say what to predict; leave out --target and --task")
    if not survives and target is None:
        raise typer.BadParameter("say what to predict: --target COLUMN, or --time COLUMN --event COLUMN")
    return survives


def show_fit(result: dict[str, Any]) -> None:
    """Show what came of a fit."""
    show()
    show(f"A {result['model']}, on {result['rows']:,} rows x {result['columns']:,} features.")
    show(_score_line(result))
    spread = result["features_per_sample"]
    low, high = spread["quartiles"]
    show(f"Features per sample: {spread['median']:g} (median; the middle half {low:g} to {high:g}).")
    if not result["most_used"]:
        show("No feature helps on held-out rows: the prediction is the same for every sample.")
    else:
        n_used, n_shown = result["features_used"], len(result["most_used"])
        some = f", the first {n_shown} of {n_used}" if n_used > n_shown else ""
        show(f"Most used features{some}:")
        show_columns([(name, f"{_percent(share)} of samples") for name, share in result["most_used"].items()])
    show(f"Written to {result['file']}.")


def _percent(share: float) -> str:
    return "<1%" if 0 < share < 0.01 else f"{share:.0%}"


def _score_line(result: dict[str, Any]) -> str:
    name = result["score_name"]
    if result["held_out_score"] is None:
        return f"Held-out {name}: not known (too few rows, or interrupted)."
    chance = {
        "accuracy": f"always guessing the commonest class: {result.get('chance_score', 0):.3f}",
        "R²": "1 is perfect, 0 no better than the mean",
        "concordance": "1 is perfect, 0.5 no better than chance",
    }[name]
    return f"Held-out {name}: {result['held_out_score']:.3f} ({chance})."


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
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """One row a sample."""
    from lspin.files import check_output, read_source, write_frame

    check_output(output)
    from lspin.workflow import open_table, predict_table, score_known

    source = read_source(table)
    say_source(source, quiet)
    opened = open_table(model, source)
    say_remarks(opened.features.remarks, quiet)
    predictions = predict_table(opened.estimator, opened.features.X)
    if known := score_known(opened):
        name, score, n_rows = known
        say(f"The table holds the target too: {name} {score:.3f} on {n_rows:,} rows.", quiet=quiet)
        say("  (Flattering, if the model was fitted on these rows.)", quiet=quiet)
    if as_json:
        show_json(predictions.to_dict("records"))
    if not as_json or str(output) != "-":
        write_frame(predictions, output, digits=6)
        say_written(output, len(predictions), "predictions", quiet)


def say_written(output: Path, n_rows: int, what: str, quiet: bool) -> None:
    """Say where a table went."""
    if str(output) != "-":
        say(f"Wrote {n_rows:,} {what} to {output}.", quiet=quiet)


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
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """An overview of all samples, or each given one in full."""
    from lspin.files import check_output, read_source, write_frame

    if output is not None:
        check_output(output)
    from lspin.workflow import open_table, pick_samples

    source = read_source(table)
    say_source(source, quiet)
    opened = open_table(model, source)
    say_remarks(opened.features.remarks, quiet)
    X = opened.features.X
    if sample:
        X = pick_samples(X, sample)
    explanation = opened.estimator.explain(X)
    frame = explanation.to_frame()
    if as_json:
        show_json(explanation_as_dict(explanation, frame))
    if output is not None:
        write_frame(frame, output, digits=6)
        say_written(output, len(frame), "rows, one per sample and feature,", quiet)
    elif sample and not as_json:
        for place in range(len(X)):
            show_sample(explanation, place)
    elif not as_json:
        show_overview(explanation)


def explanation_as_dict(explanation: Any, frame: Any) -> dict[str, Any]:
    """An explanation for a program: what holds for all samples, and the features of each."""
    by_sample = dict(iter(frame.drop(columns="sample").groupby(explanation.rows.repeat(explanation.n_outputs))))
    return {
        "scale": explanation.scale,
        "outputs": explanation.output_names,
        "baseline": explanation.baseline.tolist(),
        "samples": [
            {
                "sample": str(name),
                "prediction": explanation.scores[place].tolist(),
                "features": by_sample[place].to_dict("records") if place in by_sample else [],
            }
            for place, name in enumerate(explanation.sample_names)
        ],
    }


def show_sample(explanation: Any, place: int) -> None:
    """Show how the prediction of a sample comes about."""
    show()
    show(f"Sample {explanation.sample_names[place]}: {say_prediction(explanation, place)}")
    output = 0 if explanation.n_outputs == 1 else int(explanation.scores[place].argmax())
    here = (explanation.rows == place).nonzero()[0]
    added = explanation.open_contributions[here, output]
    here = here[abs(added).argsort()[::-1]]
    rows = [("with no feature", "", f"{explanation.baseline[output]:+.3f}")]
    for entry in here:
        value = explanation.open_values[entry]
        shown = value if isinstance(value, str) else f"{value:.4g}"
        name = str(explanation.feature_names[explanation.columns[entry]])
        rows.append((name, f"= {shown}", f"{explanation.open_contributions[entry, output]:+.3f}"))
    rows.append((f"sum: {scale_of(explanation, output)}", "", f"{explanation.scores[place, output]:+.3f}"))
    show_columns(rows, left=2)


def scale_of(explanation: Any, output: int) -> str:
    """What contributions add up to."""
    if explanation.classes is None:
        return {"response": "prediction"}.get(explanation.scale, explanation.scale)
    label = explanation.classes[1] if explanation.n_outputs == 1 else explanation.classes[output]
    return f"{'log-odds' if explanation.n_outputs == 1 else 'score'} of {label}"


def say_prediction(explanation: Any, place: int) -> str:
    """The prediction of a sample in words."""
    if explanation.probabilities is not None:
        probabilities = explanation.probabilities[place]
        likely = int(probabilities.argmax())
        return f"{explanation.classes[likely]} with probability {probabilities[likely]:.2f}"
    if explanation.scale == "log-hazard":
        from math import exp

        return f"{exp(explanation.scores[place, 0]):.2f} times the baseline hazard"
    return f"predicted {explanation.scores[place, 0]:.4g}"


def show_overview(explanation: Any) -> None:
    """Show what matters over all samples, and in which groups of them."""
    selected = abs(explanation.open_contributions).max(axis=1, initial=0.0)
    n_samples = len(explanation.sample_names)
    import numpy as np

    n_features = len(explanation.feature_names)
    shares = np.bincount(explanation.columns, minlength=n_features) / n_samples
    sizes = np.bincount(explanation.columns, selected, minlength=n_features) / n_samples
    order = [place for place in np.argsort(-sizes, kind="stable")[:10] if shares[place] > 0]
    show()
    if not order:
        show("No sample's prediction rests on any feature: it is the same for all.")
        return
    show(f"What matters most over {n_samples:,} samples (mean size of what it adds, {explanation.scale}):")
    show_columns(
        [
            (str(explanation.feature_names[place]), f"{sizes[place]:.3f}", f"used by {_percent(shares[place])}")
            for place in order
        ]
    )
    show_groups(explanation, n_samples)
    show("One sample in full: --sample NAME. All of them in a table: -o explanations.csv.")


def show_groups(explanation: Any, n_samples: int) -> None:
    """Show groups of samples that rest on the same features, where there is more than one."""
    signatures = explanation.signatures() if n_samples >= 10 else None
    if signatures is None or len(signatures) < 2:
        return
    show("Groups of samples that rest on much the same features:")
    for _, group in signatures.iterrows():
        names = ", ".join(_shorten(str(name), 24) for name in group["features"][:4])
        more = f" and {len(group['features']) - 4} more" if len(group["features"]) > 4 else ""
        show(f"  {group['size']:>5,} samples: {names or 'no feature in common'}{more}")


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
    samples: Annotated[
        bool, typer.Option("--samples/--no-samples", help="Whether the page may hold data of single samples.")
    ] = True,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """One HTML file."""
    from lspin import page
    from lspin.files import check_writable, read_source, written_whole
    from lspin.workflow import open_table

    check_writable(output)
    source = read_source(table)
    say_source(source, quiet)
    opened = open_table(model, source, target, needs_target=True)
    assert opened.outcome is not None
    say_remarks([*opened.outcome.remarks, *opened.features.remarks], quiet)
    X = opened.features.X[opened.outcome.known]
    roles = opened.outcome.columns
    name = roles.get("target", roles.get("event"))
    with written_whole(output) as unfinished, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        page.report(
            opened.estimator, X, opened.outcome.target, unfinished, target_name=name, shows_samples=samples
        )
    for text in dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, UserWarning)):
        say(f"  ! Warning: {text}")
    say(f"Wrote the report to {output}.", quiet=quiet)
    if as_json:
        show_json({"file": str(output), "rows": len(X)})


@app.command(help="Show what a model file holds: kind, columns, sparsity, scores.")
def info(model: ModelArgument, as_json: JsonOption = False) -> None:
    """All without a table."""
    from lspin.workflow import model_info

    result = model_info(model)
    if as_json:
        show_json(result)
        return
    show(f"{model}: a {result['model']}, written by lspin {result['version']}.")
    for role, name in result["target"].items():
        show(f"{role.capitalize()}: {name}")
    if result["classes"] is not None:
        show(f"Classes: {', '.join(map(str, result['classes']))}")
    names = result["columns"]
    show(f"Columns: {len(names):,} ({', '.join(names[:5])}{', …' if len(names) > 5 else ''})")
    for name, levels in result["categories"].items():
        show(f"  {name}: {', '.join(map(str, levels))}")
    if result["id"]:
        show(f"Samples are named by: {result['id']}")
    show(f"Sparsity: {result['sparsity']:.3g} a feature")
    show(_score_line(result | {"chance_score": _closed_score(result["path"])}))
    show_path(result)


def _closed_score(path: list[dict[str, Any]]) -> float:
    return next(
        (row["validation_score"] for row in path if row["n_features"] == 0 and row["validation_score"]), 0.0
    )


def show_path(result: dict[str, Any]) -> None:
    """Show what the sparsity was chosen from."""
    if not result["path"]:
        return
    show("Sparsities tried (* the chosen one):")
    rows = [("sparsity", "decay", "features", result["score_name"])]
    for row in result["path"]:
        chosen = row["sparsity"] == result["sparsity"] and row["weight_decay"] == result["weight_decay"]
        score = row["validation_score"]
        mark = "*" if chosen else " "
        shown = "-" if score is None else f"{score:.3f}"
        rows.append((f"{row['sparsity']:.3g} {mark}", f"{row['weight_decay']:g}", f"{row['n_features']:g}", shown))
    show_columns(rows)


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
    from lspin.files import check_output, write_frame

    check_output(output)
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


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
