import os
import signal
import subprocess
import sys
import threading

import pytest

from lspin.core.interrupts import APART, Interrupt, call_apart, deferring, is_busy_apart, sheltering


def test_the_first_interrupt_is_noted_and_the_second_raised():
    with deferring() as interrupt:
        assert not interrupt.asked
        signal.raise_signal(signal.SIGINT)
        assert interrupt.asked
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


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
