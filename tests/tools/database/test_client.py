import gc
import os

import pytest
from helpers import database_elements as elements

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.tools.database.client import QueryPool


def pool(path, *, workers=1, seconds=5.0):
    settings = {"kind": "sqlite", "path": str(path), "memory": 2**28, "rows": 5, "chars": 1000, "seconds": seconds}
    return QueryPool(settings, workers=workers)


@pytest.fixture
def path(tmp_path):
    return elements.write_sqlite(tmp_path / "e.db")


ONE = {"columns": ["a"], "rows": [[1]], "more": False}


def test_worker_is_reused(path):
    queries = pool(path)
    pid = queries.idle[0].process.pid
    assert queries.query("select 1 as a") == ONE and queries.query("select 1 as a") == ONE
    assert [worker.process.pid for worker in queries.idle] == [pid]


def test_query_is_repeated_after_a_worker_died(path):
    queries = pool(path)
    first = queries.idle[0].process
    first.kill()
    first.wait()
    assert queries.query("select 1 as a") == ONE
    assert queries.idle[0].process.pid != first.pid


def test_uninterruptible_query_is_killed(path):
    """One value is formatted in one step of sqlite, which looks at no interrupt meanwhile."""
    queries = pool(path, seconds=1.0)
    pid = queries.idle[0].process.pid
    assert "took longer than 1 seconds" in queries.query("SELECT printf('%.*c', 2000000000, 'x')")["error"]
    assert queries.idle == []
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert queries.query("select 1 as a") == ONE


def test_workers_end_with_the_pool(path):
    closed, forgotten = pool(path), pool(path)
    processes = [closed.idle[0].process, forgotten.idle[0].process]
    closed.close()
    del forgotten
    gc.collect()
    assert [process.poll() for process in processes] == [-9, -9]


def test_forked_process_starts_its_own_workers(path):
    queries = pool(path)
    process = queries.idle[0].process
    child = os.fork()
    if child == 0:
        queries.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert process.poll() is None and queries.query("select 1 as a") == ONE
    assert queries.idle[0].process is process


def test_deleted_database_is_infrastructure_error(path):
    queries = pool(path)
    queries.close()
    path.unlink()
    with pytest.raises(InfrastructureError, match="cannot be started"):
        queries.query("select 1 as a")
    with pytest.raises(InputError, match="cannot be opened"):
        pool(path)
