import asyncio
import threading
from concurrent.futures import CancelledError

import pytest

from handaxe.core.errors import InputError
from handaxe.tools.background_loop import BackgroundLoop, shared_loop


@pytest.fixture
def loop():
    loop = BackgroundLoop("test-loop")
    yield loop
    loop.close()


async def double(value):
    await asyncio.sleep(0)
    return 2 * value


def test_wait_returns_results_and_raises_errors(loop):
    async def fail():
        raise KeyError("mine")

    assert loop.wait(double(2)) == 4 and loop.submit(double(3)).result(10) == 6
    with pytest.raises(KeyError, match="mine"):
        loop.wait(fail())


def test_wait_works_within_a_running_loop(loop):
    """As in a notebook."""

    async def main():
        return loop.wait(double(2))

    assert asyncio.run(main()) == 4


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_exit_of_a_coroutine_reaches_the_caller_and_the_loop_continues(loop, error):
    async def leave():
        raise error

    with pytest.raises(error):
        loop.wait(leave())
    assert loop.wait(double(2)) == 4


def test_waiting_on_the_own_loop_raises(loop):
    async def main():
        return loop.wait(double(2))

    with pytest.raises(InputError, match="await it"):
        loop.wait(main())


def test_close_cancels_coroutines_and_awaits_the_cleanup():
    loop, events = BackgroundLoop("test-loop"), []
    started = threading.Event()

    async def hang():
        started.set()
        try:
            await asyncio.sleep(600)
        finally:
            events.append("cancelled")

    async def cleanup():
        events.append("cleanup")

    future = loop.submit(hang())
    assert started.wait(10)
    loop.close(cleanup)
    loop.close()
    assert events == ["cancelled", "cleanup"]
    for call in (lambda: future.result(10), lambda: loop.wait(double(2)), lambda: loop.submit(double(2))):
        with pytest.raises(CancelledError):
            call()


def test_shared_loop_is_one_per_process():
    assert shared_loop() is shared_loop() and shared_loop().wait(double(1)) == 2
