import asyncio
import contextlib
import contextvars
import threading

import pytest

from handaxe.tools.deadline import DeadlineError, Threads, within, within_async
from handaxe.tools.threads import Limit, ThreadPool

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

    while not seen:  # a busy machine may not even begin it in time
        with pytest.raises(DeadlineError):
            within(hang, seconds=0.02)
    assert seen[0].daemon and seen[0].is_alive()
    release.set()
    seen[0].join(30)
    assert not seen[0].is_alive()


def test_a_coroutine_is_cancelled_and_cleans_up():
    begun, cleaned = threading.Event(), threading.Event()

    async def hang():
        begun.set()
        try:
            await asyncio.sleep(30)
        finally:
            cleaned.set()

    while not begun.is_set():  # a busy machine may not even begin it in time
        with pytest.raises(DeadlineError):
            within_async(hang, seconds=0.02)
    assert cleaned.wait(20), "long before it would have ended by itself"


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


def test_threads_are_used_again():
    idents = {within(threading.get_ident, seconds=5) for _ in range(10)}
    assert len(idents) < 10 and threading.get_ident() not in idents


@pytest.fixture
def pool():
    pool = ThreadPool(1)
    yield pool
    pool.close()


def on_a_loop(pool, scene):
    async def main():
        threads = Threads(pool, asyncio.get_running_loop().call_soon_threadsafe, longest=30)
        return await scene(threads)

    return asyncio.run(main())


def test_blocking_work_of_a_coroutine(pool):
    NAME.set("caller")

    async def scene(threads):
        assert await threads.run(NAME.get) == "caller"
        assert threads.since is not None
        with pytest.raises(SystemExit):
            await threads.run(lambda: (_ for _ in ()).throw(SystemExit(3)))

        async def fails():
            raise SystemExit(4)

        with pytest.raises(SystemExit):
            await threads.wait(fails)

    on_a_loop(pool, scene)


def test_a_deadline_counts_from_when_a_thread_takes_the_work_up(pool):
    """One thread: the second piece of work waits longer than its deadline for the first, and is done all the same."""
    release = threading.Event()

    async def scene(threads):
        first = asyncio.ensure_future(threads.run(lambda: release.wait(30)))
        second = asyncio.ensure_future(threads.run(lambda: "done", seconds=0.5))
        await asyncio.sleep(0.8)
        assert threads.since is None and not second.done()
        release.set()
        assert await first and await second == "done"

    on_a_loop(pool, scene)


def test_work_that_hangs_leaves_its_thread_to_another(pool):
    release = threading.Event()

    async def scene(threads):
        with pytest.raises(DeadlineError):
            await threads.run(lambda: release.wait(30), seconds=0.02)
        assert pool.abandoned == 1
        assert await threads.run(lambda: "done", seconds=5) == "done"
        task = asyncio.ensure_future(threads.run(lambda: release.wait(30)))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await threads.run(lambda: "again", seconds=5) == "again"

    on_a_loop(pool, scene)
    release.set()


def test_a_cancelled_step_cancels_what_it_awaits(pool):
    cleaned = []

    async def hang():
        try:
            await asyncio.sleep(30)
        finally:
            cleaned.append(1)

    async def scene(threads):
        task = asyncio.ensure_future(threads.wait(hang))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    on_a_loop(pool, scene)
    assert cleaned == [1]


def test_waiting_for_a_limit_holds_no_thread_and_a_cancelled_wait_passes_its_turn_on(pool):
    limit = Limit(1)

    async def scene(threads):
        inside, go = asyncio.Event(), asyncio.Event()

        async def hold():
            inside.set()
            await go.wait()

        holder = asyncio.ensure_future(threads.wait(hold, limit=limit))
        await inside.wait()
        waiting = [asyncio.ensure_future(threads.run(lambda: "in", limit=limit)) for _ in range(3)]
        assert await threads.run(lambda: "free") == "free", "the only thread is free"
        waiting[0].cancel()
        go.set()
        await holder
        assert await asyncio.gather(*waiting[1:]) == ["in", "in"]
        assert limit.enter(lambda: True), "nobody is counted as being in any more"

    on_a_loop(pool, scene)
