"""One progress bar for all fits of an estimator."""

from types import TracebackType
from typing import Self

from tqdm.auto import tqdm


class Progress:
    """A bar with loss, open gates and time left, or nothing at all where ``shown`` is false."""

    def __init__(self, n_fits: int, *, shown: bool) -> None:
        self._bar = tqdm(
            total=float(n_fits),
            disable=not shown,
            desc="lspin",
            bar_format="{desc}: {percentage:3.0f}%|{bar}| {n:.1f}/{total:.0f} fits [{remaining} left{postfix}]",
        )
        self._finished = 0

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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._bar.total = max(self._finished, 1)  # a search may end with fewer fits than it was given
            self._bar.refresh()
        self._bar.close()
