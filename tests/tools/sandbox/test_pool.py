import os
import threading

import pytest

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.tools.sandbox.launch import await_ready
from handaxe.tools.sandbox.pool import Pool, shared_pool


@pytest.fixture
def pool(spec):
    made = Pool(spec, warm=1, live=3)
    yield made
    made.close()


def ask(worker, code):
    return worker.ask({"op": "run", "code": code}, seconds=60).text


def test_worker_serves_one_session(pool):
    one = pool.take()
    assert ask(one, "x = 1\nx") == "1"
    pool.discard(one)
    pool.discard(one)
    two = pool.take()
    assert two is not one and "NameError" in ask(two, "x")
    assert not one.alive and two.alive


def test_live_bounds_open_sessions(pool):
    workers = [pool.take() for _ in range(3)]
    with pytest.raises(InfrastructureError, match="live="):
        pool.take()
    pool.discard(workers.pop())
    assert ask(pool.take(), "1") == "1"


@pytest.mark.parametrize("greeted", [True, False])
def test_dead_waiting_workers_are_skipped(spec, greeted):
    pool = Pool(spec, warm=3, live=9)
    with pool.change:
        pool.change.wait_for(lambda: len(pool.ready) == 3, timeout=60)
        dead = list(pool.ready)
    for worker in dead:
        if greeted:
            await_ready(worker, seconds=60)
        worker.process.kill()
        worker.process.wait()
    another = pool.take()
    assert another not in dead and ask(another, "1") == "1"
    pool.discard(another)
    pool.close()


def test_repeated_deaths_raise(spec):
    pool = Pool(spec._replace(preload=("no_such_module",)), warm=1, live=9)
    with pytest.raises(InfrastructureError, match="no_such_module"):
        pool.take()
    assert not pool.taken
    pool.close()


def test_threads_take_distinct_workers(spec):
    pool, seen = Pool(spec, warm=0, live=20), []

    def work():
        worker = pool.take()
        seen.append((worker, ask(worker, "1 + 1")))
        pool.discard(worker)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [text for _, text in seen] == ["2"] * 8 and len({id(worker) for worker, _ in seen}) == 8
    assert not pool.taken
    pool.close()
    with pytest.raises(InfrastructureError, match="closed"):
        pool.take()


def test_closing_kills_all_workers(pool):
    worker = pool.take()
    pool.close()
    assert not worker.alive and not pool.ready
    assert pool.thread.join(timeout=30) is None and not pool.thread.is_alive()


def test_forked_process_has_its_own_pool(spec):
    pool = shared_pool(spec, warm=0, live=5)
    assert shared_pool(spec, warm=0, live=5) is pool
    worker = pool.take()
    child = os.fork()
    if child == 0:
        own = shared_pool(spec, warm=0, live=5)
        fresh = own.take()
        held = own is not pool and ask(fresh, "40 + 2") == "42"
        own.close()
        pool.discard(worker)
        os._exit(0 if held else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert ask(worker, "1") == "1"
    pool.discard(worker)


def test_numbers_out_of_range_raise(spec):
    for warm, live in ((-1, 1), (0, 0), (10**6, 1)):
        with pytest.raises(InputError, match="warm"):
            shared_pool(spec, warm=warm, live=live)
