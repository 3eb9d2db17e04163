import asyncio
import contextlib
import contextvars
import threading

import pytest

from handaxe.tools.deadline import DeadlineError, Threads, run_async_with_deadline, run_with_deadline
from handaxe.tools.thread_pool import Limit, ThreadPool

NAME = contextvars.ContextVar("NAME", default="")


def test_result_error_and_context_are_passed_on():
    NAME.set("caller")
    assert run_with_deadline(NAME.get, seconds=5) == "caller"
    assert run_with_deadline(lambda: 3, seconds=None) == 3
    with pytest.raises(TimeoutError):
        run_with_deadline(lambda: (_ for _ in ()).throw(TimeoutError("its own")), seconds=5)


def test_hanging_work_is_abandoned_in_a_daemon():
    release, seen = threading.Event(), []

    def hang():
        seen.append(threading.current_thread())
        release.wait(30)

    while not seen:  # a busy machine may not even begin it in time
        with pytest.raises(DeadlineError):
            run_with_deadline(hang, seconds=0.02)
    assert seen[0].daemon and seen[0].is_alive()
    release.set()
    seen[0].join(30)
    assert not seen[0].is_alive()


def test_late_coroutine_is_cancelled_and_cleans_up():
    begun, cleaned = threading.Event(), threading.Event()

    async def hang():
        begun.set()
        try:
            await asyncio.sleep(30)
        finally:
            cleaned.set()

    while not begun.is_set():  # a busy machine may not even begin it in time
        with pytest.raises(DeadlineError):
            run_async_with_deadline(hang, seconds=0.02)
    assert cleaned.wait(20), "long before it would have ended by itself"


def test_uncancellable_coroutine_is_abandoned():
    release = threading.Event()

    async def stubborn():
        while not release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)

    with pytest.raises(DeadlineError):
        run_async_with_deadline(stubborn, seconds=0.02)
    release.set()


def test_coroutine_runs_inside_a_running_loop():
    async def three():
        return 3

    async def caller():
        return run_async_with_deadline(three, seconds=5)

    assert asyncio.run(caller()) == 3


def test_threads_are_reused():
    idents = {run_with_deadline(threading.get_ident, seconds=5) for _ in range(10)}
    assert len(idents) < 10 and threading.get_ident() not in idents


@pytest.fixture
def pool():
    pool = ThreadPool(1)
    yield pool
    pool.close()


def run_on_loop(pool, scene):
    async def main():
        threads = Threads(pool, asyncio.get_running_loop().call_soon_threadsafe, longest=30)
        return await scene(threads)

    return asyncio.run(main())


def test_blocking_work_runs_in_the_pool(pool):
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

    run_on_loop(pool, scene)


def test_deadline_counts_from_the_start_in_a_thread(pool):
    """One thread: the second piece of work waits longer than its deadline for the first, and is done all the same."""
    release = threading.Event()

    async def scene(threads):
        first = asyncio.ensure_future(threads.run(lambda: release.wait(30)))
        second = asyncio.ensure_future(threads.run(lambda: "done", seconds=0.5))
        await asyncio.sleep(0.8)
        assert threads.since is None and not second.done()
        release.set()
        assert await first and await second == "done"

    run_on_loop(pool, scene)


def test_hanging_work_frees_its_place_in_the_pool(pool):
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

    run_on_loop(pool, scene)
    release.set()


def test_cancelled_step_cancels_its_work(pool):
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

    run_on_loop(pool, scene)
    assert cleaned == [1]


def test_cancelled_wait_for_a_limit_admits_the_next_caller(pool):
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

    run_on_loop(pool, scene)
