import asyncio
import contextlib
import contextvars
import threading

import pytest

from handaxe.tools.deadline import DeadlineError, within, within_async

NAME = contextvars.ContextVar("NAME", default="")


def test_a_result_an_error_and_the_context():
    NAME.set("caller")
    assert within(NAME.get, seconds=5) == "caller"
    assert within(lambda: 3, seconds=None) == 3
    with pytest.raises(TimeoutError):
        within(lambda: (_ for _ in ()).throw(TimeoutError("its own")), seconds=5)


def test_work_that_hangs_is_left_behind_in_a_daemon():
    release, seen = threading.Event(), []

    def hang():
        seen.append(threading.current_thread())
        release.wait(30)

    with pytest.raises(DeadlineError):
        within(hang, seconds=0.02)
    assert seen[0].daemon and seen[0].is_alive()
    release.set()
    seen[0].join(5)
    assert not seen[0].is_alive()


def test_a_coroutine_is_cancelled_and_cleans_up():
    cleaned = threading.Event()

    async def hang():
        try:
            await asyncio.sleep(30)
        finally:
            cleaned.set()

    with pytest.raises(DeadlineError):
        within_async(hang, seconds=0.02)
    assert cleaned.is_set()


def test_a_coroutine_that_refuses_to_be_cancelled():
    release = threading.Event()

    async def stubborn():
        while not release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)

    with pytest.raises(DeadlineError):
        within_async(stubborn, seconds=0.02)
    release.set()


def test_a_coroutine_runs_inside_a_running_loop():
    async def three():
        return 3

    async def caller():
        return within_async(three, seconds=5)

    assert asyncio.run(caller()) == 3
