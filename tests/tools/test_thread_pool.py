import threading
import time
from queue import SimpleQueue

import pytest

from handaxe.tools.thread_pool import Limit, ThreadPool


@pytest.fixture
def pool():
    pool = ThreadPool(2)
    yield pool
    pool.close()


def submit(pool, work):
    answers = SimpleQueue()
    return pool.submit(work, lambda *answer: answers.put(answer)), answers


def wait_until(holds):
    """Wait for another thread; fails after a while."""
    for _ in range(5000):
        if holds():
            return
        time.sleep(0.002)
    raise AssertionError("it never happened")


def test_values_and_errors_are_returned_and_threads_survive(pool):
    assert submit(pool, lambda: 3)[1].get(timeout=10) == (3, None)
    for kind in (ValueError, SystemExit, KeyboardInterrupt):
        value, error = submit(pool, lambda kind=kind: (_ for _ in ()).throw(kind("x")))[1].get(timeout=10)
        assert value is None and type(error) is kind
    assert submit(pool, lambda: 4)[1].get(timeout=10) == (4, None)
    assert pool.alive <= 2


def test_threads_are_reused_and_bounded(pool):
    names = {submit(pool, threading.get_ident)[1].get(timeout=10)[0] for _ in range(20)}
    assert len(names) <= 2
    barrier, inside, most = threading.Event(), [], []

    def work():
        inside.append(1)
        most.append(len(inside))
        barrier.wait(30)
        inside.pop()

    answers = [submit(pool, work)[1] for _ in range(6)]
    wait_until(lambda: len(inside) == 2)
    barrier.set()
    for answer in answers:
        assert answer.get(timeout=10) == (None, None)
    assert max(most) == 2


def test_abandoned_thread_is_replaced_and_counted(pool):
    release = threading.Event()
    hung = [submit(pool, lambda: release.wait(60)) for _ in range(2)]
    waiting = submit(pool, lambda: "done")[1]
    wait_until(lambda: all(job.since is not None for job, _ in hung))
    assert waiting.empty()
    assert pool.give_up(hung[0][0]) and pool.give_up(hung[0][0])
    assert waiting.get(timeout=10) == ("done", None)
    assert (pool.abandoned, pool.alive) == (1, 2)
    release.set()
    assert hung[1][1].get(timeout=10) == (True, None)
    wait_until(lambda: pool.abandoned == 0)
    assert hung[0][1].empty(), "nobody is told of what was given up"
    assert not pool.give_up(hung[1][0]), "it is over"


def test_job_abandoned_before_its_start_never_runs(pool):
    release, ran = threading.Event(), []
    for _ in range(2):
        submit(pool, lambda: release.wait(60))
    job, answer = submit(pool, lambda: ran.append(1))
    assert pool.give_up(job) and pool.abandoned == 0
    release.set()
    assert submit(pool, lambda: 5)[1].get(timeout=10) == (5, None)
    assert ran == [] and answer.empty()


def test_closing_ends_the_threads():
    pool = ThreadPool(3, name="to-be-closed")
    for _ in range(5):
        submit(pool, lambda: None)[1].get(timeout=10)
    pool.close()
    wait_until(lambda: not any(thread.name == "to-be-closed" for thread in threading.enumerate()))
    assert pool.alive == 0


def test_limit_admits_waiting_callers_in_order():
    limit, entered = Limit(2), []
    assert limit.enter(lambda: True) and limit.enter(lambda: True)
    assert not limit.enter(lambda: entered.append("a") or True)
    assert not limit.enter(lambda: False), "one that has gone away meanwhile"
    assert not limit.enter(lambda: entered.append("b") or True)
    limit.leave()
    assert entered == ["a"]
    limit.leave()
    assert entered == ["a", "b"]
    limit.leave()
    limit.leave()
    assert limit.enter(lambda: True)


def test_limit_bounds_concurrent_threads():
    limit, inside, most = Limit(1), [], []

    def work():
        with limit:
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.001)
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert most == [1] * 8
