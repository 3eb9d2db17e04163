import asyncio
import threading

from handaxe.rollouts.driver.event_loop import LoopThread


def test_posted_functions_run_in_order_on_the_loop():
    loop, seen, done = LoopThread(), [], threading.Event()
    for number in range(100):
        loop.post(lambda number=number: seen.append((number, threading.current_thread())))
    loop.post(done.set)
    assert done.wait(30)
    assert seen == [(number, loop.thread) for number in range(100)]
    assert loop.close() and not loop.thread.is_alive()


def test_posts_of_many_threads_are_all_run():
    loop, seen, done = LoopThread(), [], threading.Semaphore(0)

    def post():
        for number in range(500):
            loop.post(lambda number=number: seen.append(number))
        loop.post(done.release)

    threads = [threading.Thread(target=post) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert done.acquire(timeout=30)
    assert sorted(seen) == sorted(list(range(500)) * 4)
    assert loop.close()


def test_closing_cancels_tasks_and_awaits_their_cleanup():
    loop, begun, cleaned = LoopThread(), threading.Event(), []

    async def hang():
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            cleaned.append(1)

    loop.post(lambda: loop.start(hang()))
    assert begun.wait(30)
    assert loop.close() and cleaned == [1]


def test_blocked_seconds_grow_for_a_blocked_loop_only():
    loop, begun, release = LoopThread(), threading.Event(), threading.Event()
    loop.post(lambda: begun.set() or release.wait(60))
    assert begun.wait(30)
    first = loop.blocked()
    assert loop.blocked() > first >= 0
    assert not loop.close(), "it does not end"
    release.set()
    loop.thread.join(30)
    assert not loop.thread.is_alive()


def test_an_exception_of_a_stray_task_does_not_end_the_loop():
    loop, done = LoopThread(), threading.Event()

    async def leave():
        raise SystemExit

    loop.post(lambda: loop.start(leave()))
    loop.post(lambda: asyncio.get_running_loop().stop())
    loop.post(lambda: asyncio.get_running_loop().call_later(0.01, done.set))
    assert done.wait(30)
    assert loop.close()
