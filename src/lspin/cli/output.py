"""What the command line says and shows: messages on the standard error, results on the standard output."""

import contextlib
import json
import os
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lspin.intake.files import Source
    from lspin.intake.remarks import Remark

WIDEST, NARROWEST = 100, 20  # characters of a line on a terminal
LARGE_FILE = 5e6  # bytes, which take a second or more to read


def say(text: str, *, quiet: bool = False) -> None:
    """Show a message on the standard error; on a terminal, broken to its width."""
    if quiet:
        return
    if sys.stderr.isatty():
        text = _wrap(text)
    print(text, file=sys.stderr, flush=True)


def _wrap(text: str) -> str:
    width = min(os.get_terminal_size(sys.stderr.fileno()).columns or WIDEST, WIDEST)  # 0 where it is not known
    width = max(width, NARROWEST)
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    return textwrap.fill(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def read_aloud(path: str, quiet: bool) -> "Source":
    """Read a table and say what was read; of a large file, first that it is being read."""
    from lspin.intake.files import read_source

    file = Path(path)
    if file.is_file() and (size := file.stat().st_size) >= LARGE_FILE:
        say(f"Reading {file.name} ({size / 1e6:,.0f} MB).", quiet=quiet)
    source = read_source(path)
    n_rows, n_columns = source.frame.shape
    say(f"Read {source.name}: {n_rows:,} rows x {n_columns:,} columns ({source.form}).", quiet=quiet)
    for text in source.remarks:
        say(f"  - {text}", quiet=quiet)
    return source


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


def show_fit(result: dict[str, Any]) -> None:
    """Show what came of a fit."""
    show()
    show(f"A {result['model']}, on {result['rows']:,} rows x {result['columns']:,} features.")
    for line in score_lines(result):
        show(line)
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
    for line in context_lines(result):
        show(line)
    show(f"Written to {result['file']}.")


def _percent(share: float) -> str:
    return "<1%" if 0 < share < 0.01 else f"{share:.0%}"


def context_lines(result: dict[str, Any]) -> list[str]:
    """What gates look at and what a new row needs, where a context or a panel was given."""
    lines = []
    if result["context"] is not None:
        alone = ", which the prediction does not use" if result["context_only"] else ""
        lines.append(f"Gates look at {_list_some(result['context'])} only{alone}.")
    names = result["columns_needed"]
    if names is not None:
        counted = f"{len(names):,} {'column' if len(names) == 1 else 'columns'}: {_list_some(names)}"
        lines.append(f"A new row needs {counted if names else 'no column'}.")
    return lines


def _list_some(names: Sequence[Any], most: int = 12) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(_shorten(str(name), 34) for name in names[:most]) + more


def score_lines(result: dict[str, Any]) -> list[str]:
    """How good the model is on held-out rows."""
    name = result["score_name"]
    if result["held_out_score"] is None:
        return [f"Held-out {name}: not known (too few rows, a sparsity that was given, or interrupted)."]
    lines = [f"Held-out {name}: {result['held_out_score']:.3f} ({result['chance_note']})."]
    if result["helped_to_choose"]:
        lines.append("  The same rows helped to choose the model, so this is a little too high;")
        lines.append("  lspin report judges the model on rows that chose nothing.")
    return lines


@contextmanager
def told_if_possible(output: Path) -> Iterator[None]:
    """Tell what came of a file that is written: no reader who has gone and no interrupt makes it undone."""
    try:
        yield
        sys.stdout.flush()
    except KeyboardInterrupt:
        say(f"Interrupted. {output} was written.")
    except BrokenPipeError:
        with contextlib.suppress(OSError):  # so that the end of the program has nothing to flush
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say_replaced(output: Path, replaces: bool, quiet: bool) -> None:
    """Say that a file which is there will give way to the result."""
    if replaces:
        say(f"{output} is there already and will be replaced.", quiet=quiet)


def say_written(output: Path, n_rows: int, what: str, quiet: bool) -> None:
    """Say where a table went."""
    if str(output) != "-":
        say(f"Wrote {n_rows:,} {what} to {output}.", quiet=quiet)


def explanation_as_dict(explanation: Any, frame: Any) -> dict[str, Any]:
    """An explanation for a program: what holds for all samples, and the features of each."""
    by_sample = dict(iter(frame.drop(columns="sample").groupby(explanation.rows.repeat(explanation.n_outputs))))
    contexts = None if explanation.context is None else explanation.context.to_dict("records")
    return {
        "scale": explanation.scale,
        "outputs": explanation.output_names,
        "baseline": explanation.baseline.tolist(),
        "reference": explanation.kind.reference,
        "samples": [
            {
                "sample": str(name),
                "prediction": explanation.scores[place].tolist(),
                **({} if contexts is None else {"context": contexts[place]}),
                "features": by_sample[place].to_dict("records") if place in by_sample else [],
            }
            for place, name in enumerate(explanation.sample_names)
        ],
    }


def show_sample(explanation: Any, place: int) -> None:
    """Show how the prediction of a sample comes about."""
    show()
    show(f"Sample {explanation.sample_names[place]}: {explanation.kind.say(explanation.scores[place])}")
    if explanation.context is not None:
        given = explanation.context.iloc[place].items()
        show(f"Given {_list_some([f'{name} {_word_value(value)}' for name, value in given])}, it rests on:")
    output = 0 if explanation.n_outputs == 1 else int(explanation.scores[place].argmax())
    here = (explanation.rows == place).nonzero()[0]
    added = explanation.open_contributions[here, output]
    here = here[abs(added).argsort()[::-1]]
    kind, reference = explanation.kind, explanation.kind.reference
    rows = [("with no feature", "", f"{explanation.baseline[output] - reference:+.3f}")]
    for entry in here:
        name = str(explanation.feature_names[explanation.columns[entry]])
        shown = _word_value(explanation.open_values[entry])
        rows.append((name, f"= {shown}", f"{explanation.open_contributions[entry, output]:+.3f}"))
    total = explanation.scores[place, output] - reference
    rows.append((f"sum: {kind.name_told(output)}", "", f"{total:+.3f}"))
    show_columns(rows, left=2)


def _word_value(value: Any) -> str:
    from lspin.targets.verdicts import word_number

    return value if isinstance(value, str) else "missing" if value != value else word_number(value, 4)


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
    one = explanation.scores.shape[1] == 1
    adds_to = explanation.kind.name_output(0) if one else "the score of a class"
    show(f"What matters most over {n_samples:,} samples (mean size of what it adds to {adds_to}):")
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


def show_path(result: dict[str, Any]) -> None:
    """Show what the sparsity was chosen from."""
    if not result["path"]:
        return
    if result["start"] == "groups":
        show("Numbers of features tried, each with the sparsity up to which it pays (* the chosen one):")
    else:
        show("Sparsities tried (* the chosen one):")
    decay = "penalty" if result["start"] == "groups" else "decay"
    rows = [("sparsity", decay, "features", result["score_name"])]
    for row in result["path"]:
        chosen = row["sparsity"] == result["sparsity"] and row["weight_decay"] == result["weight_decay"]
        score = row["validation_score"]
        mark = "*" if chosen else " "
        shown = "-" if score is None else f"{score:.3f}"
        rows.append((f"{row['sparsity']:.3g} {mark}", f"{row['weight_decay']:g}", f"{row['n_features']:g}", shown))
    show_columns(rows)
