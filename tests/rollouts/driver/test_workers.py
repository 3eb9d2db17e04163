import asyncio
import threading
import time

import pytest

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.records import ParsedTurn
from handaxe.core.requests import Act, Work
from handaxe.rollouts.driver.executor import Executor
from handaxe.rollouts.driver.workers import Workers


class Blocking:
    def __init__(self, work):
        self.work = work

    def step(self, turn, *, seed):
        return self.work(seed)


class Awaiting(Blocking):
    async def astep(self, turn, *, seed, threads):
        return await self.work(seed, threads)


def act(env, seed=0):
    return Act(env, ParsedTurn(""), seed)


def collect(workers):
    """Every answer, by ticket."""
    answers = {}
    while len(workers):
        answers.update(workers.ready(None))
    return answers


def until(holds):
    """Wait for what another thread is about to do; a test that waits in vain fails."""
    for _ in range(6000):
        if holds():
            return
        time.sleep(0.005)
    raise AssertionError("it never happened")


@pytest.fixture
def workers():
    made = Workers(2)
    yield made
    made.close()


def test_answers_carry_their_ticket(workers):
    async def later(seed, threads):
        await asyncio.sleep(0)
        return seed + await threads.run(lambda: 1)

    workers.submit(5, act(Blocking(lambda seed: seed), 7))
    workers.submit(6, act(Awaiting(later), 8))
    workers.submit(7, Work(lambda: "done"))
    workers.submit(8, act(Blocking(lambda seed: 1 / seed)))
    workers.submit(9, act(Awaiting(lambda seed, threads: 1 / seed)))
    assert isinstance(workers, Executor) and len(workers) == 5
    answers = collect(workers)
    assert [answers[ticket].value for ticket in (5, 6, 7)] == [7, 9, "done"]
    assert [type(answers[ticket].error) for ticket in (8, 9)] == [ZeroDivisionError] * 2
    assert workers.ready(None) == [] and workers.ready(0) == []


def test_ready_returns_after_its_timeout(workers):
    release = threading.Event()
    workers.submit(0, Work(lambda: release.wait(30)))
    assert workers.ready(0) == [] and workers.ready(0.01) == []
    release.set()
    assert collect(workers)[0].value is True


@pytest.mark.parametrize("error", [SystemExit(1), asyncio.CancelledError(), KeyboardInterrupt()])
def test_exceptions_do_not_end_a_worker(workers, error):
    async def dies(seed, threads):
        if seed:
            asyncio.get_running_loop().create_task(escape())
        raise error

    async def escape():
        raise SystemExit("a task of its own")

    def raises(*_):
        raise error

    for ticket in range(6):
        workers.submit(ticket, act(Awaiting(dies), ticket % 2) if ticket < 3 else act(Blocking(raises)))
    answers = collect(workers)
    assert len(answers) == 6 and {type(answer.error) for answer in answers.values()} == {type(error)}
    workers.submit(9, Work(lambda: "alive"))
    assert collect(workers)[9].value == "alive"


def test_forgotten_work_is_cancelled_and_its_thread_replaced(workers):
    release, begun, cleaned = threading.Event(), threading.Semaphore(0), threading.Event()

    def block(seed):
        begun.release()
        release.wait(60)

    async def hang(seed, threads):
        begun.release()
        try:
            await asyncio.sleep(60)
        finally:
            cleaned.set()

    for ticket in range(2):
        workers.submit(ticket, act(Blocking(block)))
    workers.submit(2, act(Awaiting(hang)))
    for _ in range(3):
        assert begun.acquire(timeout=30)
    for ticket in range(3):
        workers.forget(ticket)
    workers.forget(77)
    assert len(workers) == 0 and workers.abandoned == 2 and cleaned.wait(30)
    workers.submit(9, Work(lambda: "free"))
    assert collect(workers)[9].value == "free"
    release.set()


def test_work_beyond_the_limit_ends_as_infrastructure_error():
    release = threading.Event()

    async def hang(seed, threads):
        await asyncio.sleep(60)

    async def slow_tool(seed, threads):
        """Longer than the limit, but all of it waiting for a tool with a limit of its own."""
        await threads.run(lambda: time.sleep(1.5), seconds=30)
        return "came back"

    workers = Workers(2, seconds=1.0)
    workers.submit(0, act(Blocking(lambda seed: release.wait(60))))
    workers.submit(1, act(Awaiting(hang)))
    workers.submit(2, act(Awaiting(slow_tool)))
    answers = collect(workers)
    for ticket in (0, 1):
        assert isinstance(answers[ticket].error, InfrastructureError)
        assert str(answers[ticket].error) == "the environment gave no answer within 1 seconds"
    assert answers[2].value == "came back" and workers.abandoned == 1
    release.set()
    workers.close()


def test_a_coroutine_that_blocks_the_loop_is_abandoned_with_the_loop():
    release, begun = threading.Event(), threading.Event()

    async def blocks(seed, threads):
        begun.set()
        release.wait(60)

    async def waits(seed, threads):
        await asyncio.sleep(60)

    workers = Workers(1, stall=0.2)
    workers.submit(0, act(Awaiting(waits)))
    workers.submit(1, act(Awaiting(blocks)))
    assert begun.wait(30)
    answers = collect(workers)
    assert all("blocked the event loop" in str(answers[ticket].error) for ticket in (0, 1))
    assert workers.abandoned == 1

    async def fine(seed, threads):
        return "a new loop"

    workers.submit(2, act(Awaiting(fine)))
    assert collect(workers)[2].value == "a new loop"
    release.set()
    until(lambda: workers.abandoned == 0)
    workers.close()


def test_closing_ends_all_threads_but_hanging_ones():
    release, cleaned, before = threading.Event(), threading.Event(), set(threading.enumerate())
    begun = threading.Semaphore(0)

    async def hang(seed, threads):
        begun.release()
        try:
            await asyncio.sleep(60)
        finally:
            cleaned.set()

    workers = Workers(2)
    workers.submit(0, act(Awaiting(hang)))
    workers.submit(1, Work(lambda: begun.release() or release.wait(60)))
    workers.submit(2, Work(lambda: None))
    for _ in range(2):
        assert begun.acquire(timeout=30)
    assert [ticket for ticket, _ in workers.ready(30)] == [2]
    workers.close()
    assert cleaned.wait(30) and len(workers) == 0
    until(lambda: workers.abandoned == 1 and len(set(threading.enumerate()) - before) == 1)
    release.set()
    until(lambda: workers.abandoned == 0 and not set(threading.enumerate()) - before)


def test_arguments_out_of_range_are_errors():
    for bad in ({"count": 0}, {"seconds": 0.0}, {"stall": -1.0}):
        with pytest.raises(InputError):
            Workers(**bad)


def test_finished_work_is_released(workers):
    class Big:
        alive = 0

        def __init__(self):
            Big.alive += 1

        def __del__(self):
            Big.alive -= 1

    big = Big()
    workers.submit(0, Work(lambda big=big: big))
    del big
    assert len(collect(workers)) == 1
    until(lambda: Big.alive == 0)
