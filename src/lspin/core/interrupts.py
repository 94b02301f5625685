"""Ctrl-C while compiled code runs: noted at once, obeyed where nothing is torn apart."""

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

GLANCE = 0.05  # seconds between two looks at whether Ctrl-C was pressed
APART = "lspin-apart"  # name of the threads that main may leave behind


class Interrupt:
    """Whether Ctrl-C was pressed."""

    def __init__(self) -> None:
        self.asked = False


@contextlib.contextmanager
def deferring() -> Iterator[Interrupt]:
    """Within, a first Ctrl-C is noted and a second one raised.

    In threads other than the main one, and where the user has a handler of his own, nothing changes.
    """
    interrupt = Interrupt()
    if not raises_interrupts():
        yield interrupt
        return

    def note(number: int, frame: Any) -> None:
        if interrupt.asked:
            signal.default_int_handler(number, frame)
        interrupt.asked = True

    signal.signal(signal.SIGINT, note)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def raises_interrupts() -> bool:
    """Whether Ctrl-C raises an exception here, as it does by default in the main thread."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def call_apart(function: Callable[[], Any], interrupt: Interrupt) -> Any:
    """Call a function that may take seconds and cannot be interrupted; nothing, if Ctrl-C comes first.

    The function goes on in a thread of its own, and its result is dropped.
    """
    ended: list[tuple[Any, BaseException | None]] = []

    def call() -> None:
        try:
            ended.append((function(), None))
        except BaseException as error:
            ended.append((None, error))

    thread = threading.Thread(target=call, name=APART)
    thread.start()
    while thread.is_alive() and not interrupt.asked:
        thread.join(GLANCE)
    if not ended:
        return None
    result, error = ended[0]
    if error is not None:
        raise error
    return result


def is_busy_apart() -> bool:
    """Whether a thread was left behind that would delay the end of the program."""
    return any(thread.name == APART for thread in threading.enumerate())


@contextlib.contextmanager
def sheltering() -> Iterator[None]:
    """Processes started within never see Ctrl-C, which a terminal sends to all: their parent decides."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
