"""One report of progress for all fits of an estimator."""

import sys
import time
from types import TracebackType
from typing import Self

from tqdm.auto import tqdm

SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """A bar with loss, open gates and time left, or nothing at all where ``shown`` is false.

    Where there is neither a terminal nor a notebook, such as in the log of a job, it is a line now and then.
    """

    def __init__(self, n_fits: int, *, shown: bool, unit: str = "fits") -> None:
        has_bar = sys.stderr.isatty() or "ipykernel" in sys.modules
        self._bar = tqdm(
            total=float(n_fits),
            disable=not (shown and has_bar),
            desc="lspin",
            bar_format=f"{{desc}}: {{percentage:3.0f}}%|{{bar}}| {{n:.1f}}/{{total:.0f}} {unit} "
            "[{remaining} left{postfix}]",
        )
        self._unit = unit
        self._finished = 0
        self._total = n_fits
        self._speaks = shown and not has_bar
        self._start = self._last_line = time.monotonic()

    def report(self, part: float, loss: float, n_open: float) -> None:
        """Show how far the fit under way has come."""
        self._bar.set_postfix_str(f"loss {loss:.3f}, {n_open:.1f} open gates", refresh=False)
        self._move(self._finished + part)

    def finish_fit(self) -> None:
        """Count one more fit as done."""
        self._finished += 1
        self._move(self._finished)

    def _move(self, position: float) -> None:
        self._bar.update(position - self._bar.n)
        now = time.monotonic()
        if self._speaks and now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            text = f"lspin: {position:.1f} of at most {self._total} {self._unit}"
            if position >= 1:  # the first one includes the compilation
                left = (now - self._start) * max(self._total - position, 0) / position
                text += f", {tqdm.format_interval(left)} left"
            print(text, file=sys.stderr, flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._bar.total = max(self._finished, 1)  # a search may end with fewer fits than it was given
            self._bar.refresh()
        self._bar.close()


class Stages:
    """A line on the standard error for each part of a long task, with the seconds so far."""

    def __init__(self, n_stages: int, *, shown: bool) -> None:
        self._n_stages, self._shown = n_stages, shown
        self._place = 0
        self._start = time.monotonic()

    def begin(self, what: str) -> None:
        """Say which part begins."""
        self._place += 1
        self._say(f"lspin: {self._place} of {self._n_stages}, {what}")

    def end(self) -> None:
        """Say that all is done."""
        self._say("lspin: done")

    def _say(self, text: str) -> None:
        if self._shown:
            seconds = time.monotonic() - self._start
            print(f"{text} ({seconds:.0f} s)" if seconds >= 1 else text, file=sys.stderr, flush=True)
