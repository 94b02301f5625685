"""The shell of the command ``lspin``: what fails ends with one sentence, what is interrupted ends in order."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from lspin.cli.output import say, show


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
