"""The commands ``lspin demo`` and ``lspin datasets``: real patients and public tables to try."""

import textwrap
from pathlib import Path
from typing import Annotated, Any

import typer

from lspin.cli.arguments import JsonOption, QuietOption
from lspin.cli.output import say, say_replaced, show, show_json

# All else is imported where it is needed, so that help does not wait for it.


def demo() -> None:
    """Fit on real patients: accuracy beside familiar models, three predictions explained."""
    from lspin.demo import run

    run()


def datasets(
    name: Annotated[str | None, typer.Argument(help="One of the tables.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write it: .csv, .tsv, .parquet, .xlsx."),
    ] = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """List public tables to try, or write one of them to a file."""
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
