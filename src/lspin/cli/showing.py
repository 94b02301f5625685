"""The commands ``lspin report`` and ``lspin info``: a page on a model, and what its file holds."""

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from lspin.cli.arguments import (
    AtOption,
    ForceOption,
    IdOption,
    JsonOption,
    ModelArgument,
    QuietOption,
    TableArgument,
    check_arguments,
    read_at,
    split_methods,
)
from lspin.cli.output import (
    context_lines,
    read_aloud,
    say,
    say_remarks,
    say_replaced,
    score_lines,
    show,
    show_json,
    show_path,
)

# All else is imported where it is needed, so that help does not wait for it.


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
    """Write a page to read and send: how good, which features, every sample."""
    times = read_at(at)
    from lspin.cli.workflow import open_table
    from lspin.cli.writing import PAGE, check_writable
    from lspin.reporting import page

    tables = [table] if test is None else [table, test]
    say_replaced(output, check_writable(output, reads=[model, *tables], kind=PAGE, force=force), quiet)
    check_arguments(model, table)
    from lspin.intake.columns import say_late

    given, name, left_out, patients = [], None, None, None
    for path in tables:
        source = read_aloud(path, quiet)
        opened = open_table(model, source, target, id_name=id_column, needs_target=True)
        assert opened.outcome is not None
        late = []
        if left_out is None:  # of the rows of the fit
            left_out = opened.left_out[opened.outcome.known]
            late = say_late(left_out, opened.outcome)
            names = opened.features.given_names
            patients = None if names is None else names[opened.outcome.known]
        say_remarks([*opened.outcome.remarks, *opened.features.remarks, *late], quiet)
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
            left_out=left_out,
            patients=patients,
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


def info(model: ModelArgument, as_json: JsonOption = False) -> None:
    """Show what a model file holds: kind, columns, sparsity, scores."""
    from lspin.cli.workflow import model_info

    result = model_info(model)
    if as_json:
        show_json(result)
        return
    show(f"{model}: a {result['model']}, written by lspin {result['version']}.")
    target = dict(result["target"])
    if happened := target.pop("happened", None):
        target["event"] += f" (it happened where this is {happened})"
    for role, name in target.items():
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
