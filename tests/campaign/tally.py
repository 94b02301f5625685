"""What came of each attempt, counted; a fault keeps the words to find it again."""

import contextlib
import signal
import sys
from collections import Counter

FAULTS = ("hang", "exception", "not finite", "wrong model", "lost model", "left over", "slow", "too large")


class Hang(BaseException):
    """An attempt has not ended in time; no handler of the package takes it for an error of the user."""


class Tally:
    """Outcomes by kind of attempt."""

    def __init__(self, *, shows=False):
        self.shows = shows
        self.counts = Counter()
        self.faults = []

    def add(self, kind, outcome, words=""):
        self.counts[kind, outcome] += 1
        if outcome in FAULTS:
            self.faults.append(f"{kind}: {outcome}: {words}")
        if self.shows and (outcome in FAULTS or self.counts.total() % 100 == 0):
            said = self.faults[-1] if outcome in FAULTS else dict(self.counts)
            print(self.counts.total(), said, file=sys.stderr, flush=True)

    def table(self):
        kinds = sorted({kind for kind, _ in self.counts})
        outcomes = sorted({outcome for _, outcome in self.counts} - set(FAULTS)) + list(FAULTS)
        lines = [["", "attempts", *outcomes]]
        for kind in kinds:
            found = [self.counts[kind, outcome] for outcome in outcomes]
            lines.append([kind, sum(found), *found])
        return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


@contextlib.contextmanager
def judged(tally, kind, words, seconds=None):
    """Count what comes of an attempt: the body says ``tally.add`` unless it raises."""
    if seconds is not None:
        signal.signal(signal.SIGALRM, _ring)
        signal.alarm(seconds)
    try:
        yield
    except (ValueError, TypeError) as error:
        tally.add(kind, "refused" if str(error).strip() else "exception", f"{words}: {error!r}")
    except Hang:
        tally.add(kind, "hang", words)
    except Exception as error:
        tally.add(kind, "exception", f"{words}: {type(error).__name__}: {str(error)[:200]}")
    finally:
        if seconds is not None:
            signal.alarm(0)


def _ring(*_):
    raise Hang
