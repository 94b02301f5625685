import contextlib
import os
import signal
import subprocess
import sys
import threading

import pytest

from lspin.core.interrupts import (
    APART,
    Interrupt,
    Noted,
    call_apart,
    deferring,
    import_apart,
    is_busy_apart,
    noting,
    obey,
    sheltering,
    take_note,
)


def test_the_first_interrupt_is_noted_and_the_second_raised():
    with deferring() as interrupt:
        assert not interrupt.asked
        signal.raise_signal(signal.SIGINT)
        assert interrupt.asked
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def _xla_gc_callback():
    """Named like a function of JAX within which Python drops what is raised."""
    signal.raise_signal(signal.SIGINT)


@pytest.fixture
def noted_only(monkeypatch):
    """What would be dropped is noted, and not raised again by itself."""
    monkeypatch.setattr(Noted, "raise_later", lambda self: None)


def wait_after_a_drop():
    _xla_gc_callback()
    while True:
        os.sched_yield()


def test_an_interrupt_that_would_be_dropped_is_raised_in_a_moment():
    with noting() as noted:
        with pytest.raises(KeyboardInterrupt):
            wait_after_a_drop()
        assert noted.asked
        assert take_note()


def test_an_interrupt_that_would_be_dropped_is_obeyed_later(noted_only):
    with noting():
        _xla_gc_callback()
        with pytest.raises(KeyboardInterrupt):
            obey()
        obey()  # once only
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_that_was_dropped_is_raised_again_unless_it_was_dealt_with():
    with noting() as noted:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert noted.asked
        with pytest.raises(KeyboardInterrupt):
            obey()
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert take_note()
        obey()


def test_compiled_code_obeys_an_interrupt_that_was_dropped(noted_only):
    with noting():
        _xla_gc_callback()
        with deferring() as interrupt:
            assert interrupt.asked
        assert isinstance(signal.getsignal(signal.SIGINT), Noted)
        obey()


def test_an_import_is_not_torn_apart(tmp_path, monkeypatch):
    (tmp_path / "slow_module.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\nvalue = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        import_apart("slow_module")
    for thread in threading.enumerate():
        if thread.name == APART:
            thread.join()
    assert sys.modules.pop("slow_module").value == 7


def test_a_handler_of_the_user_stays():
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        with deferring() as interrupt:
            signal.raise_signal(signal.SIGINT)
        assert heard == [1]
        assert not interrupt.asked
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_leave_the_handler_alone():
    handlers = []

    def look():
        with deferring():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler]


def test_a_call_apart_gives_its_result_or_its_error():
    def fail():
        raise ValueError("wrong")

    assert call_apart(lambda: 7, Interrupt()) == 7
    with pytest.raises(ValueError, match="wrong"):
        call_apart(fail, Interrupt())


def test_a_call_apart_is_left_behind_at_an_interrupt():
    ends = threading.Event()
    with deferring() as interrupt:
        signal.raise_signal(signal.SIGINT)
        assert call_apart(ends.wait, interrupt) is None
    assert is_busy_apart()
    ends.set()
    for thread in threading.enumerate():
        if thread.name == APART:
            thread.join()
    assert not is_busy_apart()


@pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
def test_processes_started_in_shelter_do_not_see_an_interrupt():
    code = "import signal; signal.raise_signal(signal.SIGINT); print('here')"
    with sheltering():
        sheltered = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert sheltered.stdout == "here\n"
