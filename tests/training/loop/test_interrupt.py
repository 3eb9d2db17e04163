import os
import signal
import threading

import pytest

from handaxe.training.loop.interrupt import Interrupt


def press():
    os.kill(os.getpid(), signal.SIGINT)


def test_the_first_is_noted_and_the_second_raises(capfd):
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), Interrupt() as interrupt:
        assert not interrupt.requested
        press()
        assert interrupt.requested and "press Ctrl-C again to stop at once" in capfd.readouterr().err
        press()
    assert signal.getsignal(signal.SIGINT) is before


def test_outside_the_main_thread_it_does_nothing():
    seen = []

    def work():
        with Interrupt() as interrupt:
            seen.append(interrupt.requested)

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [False] and signal.getsignal(signal.SIGINT) is before


def test_one_inside_another_tells_it(capfd):
    with Interrupt() as outer:
        with Interrupt() as inner:
            press()
        assert inner.requested and outer.requested
        with Interrupt() as later:
            pass
        assert not later.requested
    with Interrupt() as outer, Interrupt():
        pass
    assert not outer.requested
    capfd.readouterr()
