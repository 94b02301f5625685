"""The command ``lspin``: tables in files become models, predictions, explanations, pages and comparisons."""

import os
import signal
import sys


def main() -> None:
    """Run the command line."""
    from lspin.cli.commands import app
    from lspin.core.interrupts import is_busy_apart

    try:
        app()
    except SystemExit as end:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is said: an interrupt of the end undoes nothing
        if not is_busy_apart():
            raise
        # A compilation that nobody waits for any more would delay the end.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code if isinstance(end.code, int) else bool(end.code))
