import asyncio
import threading

import pytest

from handaxe.serving.format_threads import THREADS, FormatThreads

SHORT, LONG = 10, 1_000_000


def run(work):
    async def main():
        threads = FormatThreads()
        try:
            return await work(threads)
        finally:
            threads.close()

    return asyncio.run(main())


def test_short_request_completes_beside_blocked_long_requests():
    release = threading.Event()

    async def work(threads):
        blocked = [asyncio.create_task(threads.run(LONG, release.wait, 60)) for _ in range(3 * THREADS)]
        await asyncio.sleep(0)
        found = [await threads.run(SHORT, abs, -k) for k in range(20)]
        running = sum(not task.done() for task in blocked)
        release.set()
        return found, running, await asyncio.gather(*blocked)

    assert run(work) == (list(range(20)), 3 * THREADS, [True] * 3 * THREADS)


@pytest.mark.parametrize("size", [SHORT, LONG])
def test_error_reaches_the_caller_and_frees_the_thread(size):
    async def work(threads):
        for _ in range(2 * THREADS):
            with pytest.raises(ZeroDivisionError):
                await threads.run(size, divmod, 1, 0)
        return await threads.run(size, abs, -1)

    assert run(work) == 1


def test_cancelled_long_request_keeps_its_thread_until_the_call_returns():
    release = threading.Event()

    async def work(threads):
        blocked = [asyncio.create_task(threads.run(LONG, release.wait, 60)) for _ in range(THREADS - 1)]
        await asyncio.sleep(0.05)
        for task in blocked:
            task.cancel()
        await asyncio.wait(blocked)
        waiting = asyncio.create_task(threads.run(LONG, abs, -1))
        found = await threads.run(SHORT, abs, -2), waiting.done()
        release.set()
        return *found, await waiting

    assert run(work) == (2, False, 1)
