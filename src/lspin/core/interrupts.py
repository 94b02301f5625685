"""Ctrl-C while compiled code runs: noted at once, obeyed where nothing is torn apart."""

import contextlib
import importlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

GLANCE = 0.05  # seconds between two looks at whether Ctrl-C was pressed
APART = "lspin-apart"  # name of the threads that main may leave behind
SWALLOWS = ("_xla_gc_callback",)  # of JAX


class Interrupt:
    """Whether Ctrl-C was pressed."""

    def __init__(self) -> None:
        self.asked = False


class Noted(Interrupt):
    """A handler of Ctrl-C that raises it, and notes it until the exception is dealt with."""

    def __call__(self, number: int, frame: Any) -> None:
        """Note and raise it."""
        self.asked = True
        # Python drops what is raised in a callback of its garbage collector, and prints where that was.
        if frame is None or frame.f_code.co_name not in SWALLOWS:
            signal.default_int_handler(number, frame)
        self.raise_later()

    def raise_later(self) -> None:
        """Raise it in a moment: what waits for workers looks at no note."""

        def repeat() -> None:
            if self.asked and signal.getsignal(signal.SIGINT) is self:
                signal.raise_signal(signal.SIGINT)

        timer = threading.Timer(GLANCE, repeat)
        timer.daemon = True
        timer.start()


@contextlib.contextmanager
def noting() -> Iterator[Interrupt]:
    """Within, Ctrl-C is raised, and raised again by :func:`obey` if the exception was dropped on its way."""
    if not raises_interrupts():
        yield Interrupt()
        return
    handler = Noted()
    signal.signal(signal.SIGINT, handler)
    try:
        yield handler
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def take_note() -> bool:
    """Whether a Ctrl-C was noted that has not been dealt with; from now on it has."""
    handler = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    was_asked = is_main and isinstance(handler, Noted) and handler.asked
    if was_asked:
        handler.asked = False  # type: ignore[union-attr]
    return was_asked


def obey() -> None:
    """Raise a Ctrl-C that was noted."""
    if take_note():
        raise KeyboardInterrupt


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

    interrupt.asked = take_note()
    before = signal.signal(signal.SIGINT, note)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)


def raises_interrupts() -> bool:
    """Whether Ctrl-C raises an exception here, as it does by default in the main thread."""
    handler = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and (handler is signal.default_int_handler or isinstance(handler, Noted))


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


def import_apart(name: str) -> None:
    """Import a module that takes seconds and would be left half imported by Ctrl-C, which is raised afterwards."""
    if name in sys.modules:
        return
    with deferring() as interrupt:
        call_apart(partial(importlib.import_module, name), interrupt)
    if interrupt.asked:
        raise KeyboardInterrupt


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
