"""Real runs of the tests of toolz in a sandbox."""

import os
import threading
import time

import pytest

pytest.importorskip("toolz")

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.worlds.repair import runner as runner_module
from handaxe.worlds.repair.runner import ChangedSource, Runner, runner

TOOLZ, TESTS = "toolz.itertoolz", "toolz.tests.test_itertoolz"


@pytest.fixture(scope="module")
def run(sandbox):
    return runner(("toolz", "pytest"))


def take(body):
    """A changed `take`, as a runner receives it."""
    return [ChangedSource(f"def take(n, seq):\n    {body}", 1, ("take",))]


def test_tests_are_collected_in_the_order_of_the_file(run):
    names = run.collect(TESTS)
    assert names[:3] == ["test_remove", "test_groupby", "test_groupby_non_callable"] and len(names) > 40
    assert [one for one in run.collect("toolz.tests.test_dicttoolz") if "TestDict." in one]


def test_a_changed_function_fails_its_test_and_no_later_run(run):
    broken = run.run(TOOLZ, TESTS, ["test_take"], take("return itertools.islice(seq, n + 1)"))
    assert (broken.failed, broken.error) == (("test_take",), "AssertionError")
    assert broken.code.startswith("assert") and broken.line > 0
    assert run.run_once(TOOLZ, TESTS, ("test_take",), (), stop=True, trace=False).failed == ()


def test_a_change_reaches_references_in_other_modules(run):
    changed = take("return iter('x')")
    result = run.run(TOOLZ, "toolz.tests.test_curried", run.collect("toolz.tests.test_curried"), changed, stop=False)
    assert "test_take" in result.failed


def test_an_exception_names_the_line_of_the_file(run):
    result = run.run(TOOLZ, TESTS, ["test_take"], take("return seq.missing"))
    assert (result.error, result.at) == ("AttributeError", 2)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("\n    while True: pass", "Timeout"),
        ("import os; os._exit(0)", "Crash"),
        ("import os; os.kill(os.getpid(), 9)", "Crash"),
        ("import sys; sys.exit(0)", "SystemExit"),
        ("import os; os.fork()", "BlockingIOError"),
        ("import socket; socket.socket()", "PermissionError"),
        ("open('/packages/toolz/tests/test_itertoolz.py', 'w')", "OSError"),
        ("return bytearray(2**40)", "MemoryError"),
        ("import pytest; pytest.skip('no')", "Skipped"),
    ],
)
def test_code_that_ends_or_escapes_fails_the_test(run, body, error):
    result = run.run(TOOLZ, TESTS, ["test_take", "test_drop"], take(body), stop=False)
    assert result.error == error and "test_take" in result.failed
    assert run.run_once(TOOLZ, TESTS, ("test_take",), (), stop=True, trace=False).failed == ()


def test_a_trace_lists_functions_by_first_call(run):
    result = run.run(TOOLZ, TESTS, ["test_take", "test_unique"], trace=True)
    assert len(result.calls) == 2 and len(result.calls[0]) == 1 and result.calls[0] != result.calls[1]


def test_runs_of_several_threads_are_independent(run):
    found = {}

    def work(number):
        body = f"return itertools.islice(seq, n + {number % 2})"
        found[number] = run.run(TOOLZ, TESTS, ["test_take"], take(body)).failed

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert [bool(found[number]) for number in range(8)] == [bool(number % 2) for number in range(8)]


def test_equal_runs_have_one_result(run):
    first = run.run(TOOLZ, TESTS, ["test_take"], take("return seq"))
    assert run.run(TOOLZ, TESTS, ("test_take",), take("return seq")) is first
    assert run.run(TOOLZ, TESTS, ["test_take"], take("return iter(seq)")) is not first


def test_first_calls_of_several_threads_share_a_runner(sandbox, monkeypatch):
    class Slow(Runner):
        def __init__(self, distributions):
            time.sleep(0.2)
            super().__init__(distributions)

    monkeypatch.setattr(runner_module, "Runner", Slow)
    found = []
    threads = [threading.Thread(target=lambda: found.append(runner(("toolz",)))) for _ in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(found) == 6 and len({id(one) for one in found}) == 1


def test_a_killed_sandbox_is_replaced(run):
    run.run(TOOLZ, TESTS, ["test_take"])
    for worker in run._sandboxes._idle:
        os.killpg(worker.group, 9)
        worker.process.wait(timeout=20)
    assert run.run_once(TOOLZ, TESTS, ("test_take",), (), stop=True, trace=False).failed == ()


def test_a_missing_module_of_tests_is_a_failure_of_the_machine(run):
    with pytest.raises(InfrastructureError, match="No module named 'toolz.tests.missing'"):
        run.run(TOOLZ, "toolz.tests.missing", ["test_take"])


def test_a_missing_distribution_is_an_input_error(sandbox):
    with pytest.raises(InputError, match="no-such-distribution"):
        Runner(("no-such-distribution",))
