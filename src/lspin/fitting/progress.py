"""How far a long task is, with the time left: the fits of an estimator, or the parts of anything else."""

import os
import sys
import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self, TypeVar

from tqdm.auto import tqdm

SECONDS_TO_FIRST_LINE = 2.0
SECONDS_BETWEEN_LINES = 10.0
TELLING = 0.1  # of a single part, from which the time left can be told
Part = TypeVar("Part")
FITS = "fits"  # the unit that has parts, and of which there may be fewer in the end


class Progress:
    """A bar with loss, open gates and time left, or nothing at all where ``shown`` is false.

    Where there is neither a terminal nor a notebook, such as in the log of a job, it is a line now and then.
    """

    def __init__(self, n_parts: int, *, shown: bool, unit: str = FITS) -> None:
        has_bar = _is_terminal() or "ipykernel" in sys.modules
        self._places = 1 if unit == FITS else 0
        self._bar = tqdm(
            total=float(n_parts),
            disable=not (shown and has_bar),
            desc="lspin",
            bar_format=f"{{desc}}: {{percentage:3.0f}}%|{{bar}}| {{n:.{self._places}f}}/{{total:.0f}} {unit} "
            "[{remaining} left{postfix}]",
        )
        self._unit = unit
        self._finished = 0
        self._total = n_parts
        self._speaks = shown and not has_bar
        self._start = time.monotonic()
        self._begun: tuple[float, float] | None = None  # when the first fit was compiled, and how far it was then
        self._next_line = self._start + SECONDS_TO_FIRST_LINE

    def report(self, part: float, loss: float, n_open: float) -> None:
        """Show how far the fit under way has come."""
        if self._begun is None:
            self._begun = time.monotonic(), self._finished + part
        self._bar.set_postfix_str(f"loss {loss:.3f}, {n_open:.1f} open gates", refresh=False)
        self._move(self._finished + part)

    def finish_fit(self) -> None:
        """Count one more fit, or other part, as done."""
        self._finished += 1
        self._move(self._finished)

    def follow(self, parts: Iterable[Part]) -> Iterator[Part]:
        """The parts one by one, each counted as done when the next one is asked for."""
        for part in parts:
            yield part
            self.finish_fit()

    def _move(self, position: float) -> None:
        self._bar.update(position - self._bar.n)
        now = time.monotonic()
        if self._speaks and now >= self._next_line:
            self._next_line = now + SECONDS_BETWEEN_LINES
            most = "at most " if self._unit == FITS else ""
            text = f"lspin: {round(position, self._places):g} of {most}{self._total} {self._unit}"
            start, origin = self._begun or (self._start, 0.0)
            if position >= min(1.0, TELLING * self._total) and position > origin:
                left = (now - start) * max(self._total - position, 0) / (position - origin)
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


def _is_terminal() -> bool:
    """Whether the standard error is a terminal that has a size: on one without, a bar would not be seen."""
    if not sys.stderr.isatty():
        return False
    try:
        return min(os.get_terminal_size(sys.stderr.fileno())) > 0
    except (OSError, ValueError):  # one that is only played
        return True


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
