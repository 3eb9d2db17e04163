import threading

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.rollouts.play.env_session import EnvSession, State

TASK = Task("t", (Message("user", "go"),))


class Chamber:
    """Counts what is done to it, and fails where it is told to."""

    def __init__(self, task, fails=""):
        self.task, self.fails, self.log = task, fails, []
        self._do("make")

    def _do(self, what):
        self.log.append(what)
        if self.fails == what:
            raise OSError(f"no {what}")

    def start(self):
        self._do("start")
        return self.task.messages, ()

    def snapshot(self):
        self._do("snapshot")
        return 7

    def restore(self, state):
        self._do(f"restore {state}")

    def report(self):
        self._do("report")
        return {"n": len(self.log)}

    def close(self):
        self._do("close")


def session(made, fails="", **options):
    def make(task):
        made.append(Chamber.__new__(Chamber))
        made[-1].__init__(task, fails)
        return made[-1]

    return EnvSession(make, TASK, name="t/0", **options)


def test_session_opens_steps_reports_and_closes():
    made = []
    one = session(made)
    assert one.open() == (TASK.messages, (), None)
    assert one.snapshot() == State(7) and one.env is made[0]
    assert one.report_and_close() == {"n": 4} == one.report_and_close()
    one.close()
    assert made[0].log == ["make", "start", "snapshot", "report", "close"]
    with pytest.raises(RuntimeError, match="has no environment now"):
        one.env  # noqa: B018


def test_session_starts_at_the_given_state():
    made = []
    assert session(made, state=State(3), snapshots=True).open().state == State(7)
    assert made[0].log == ["make", "start", "restore 3", "snapshot"]


@pytest.mark.parametrize("fails", ["make", "start", "restore 3", "snapshot"])
def test_an_environment_that_fails_to_start_is_closed(fails):
    made = []
    one = session(made, fails, state=State(3), snapshots=True)
    with pytest.raises(OSError, match=f"no {fails}"):
        one.open()
    assert made[0].log.count("close") == (fails != "make")
    one.close()
    assert made[0].log.count("close") == (fails != "make")


def test_a_failing_report_closes_and_raises():
    made = []
    one = session(made, "report")
    one.open()
    for _ in range(2):
        with pytest.raises(OSError, match="no report"):
            one.report_and_close()
    assert made[0].log == ["make", "start", "report", "close"]


def test_a_failing_close_is_a_warning():
    one = session([], "close")
    one.open()
    with pytest.warns(UserWarning, match="attempt t/0: closing its environment failed"):
        assert one.report_and_close() == {"n": 3}


def test_closing_during_setup_closes_the_environment_afterwards():
    begun, go, made = threading.Event(), threading.Event(), []

    class Slow(Chamber):
        def start(self):
            begun.set()
            assert go.wait(20)
            return super().start()

    def make(task):
        made.append(Slow(task))
        return made[-1]

    one = EnvSession(make, TASK, name="t/0")
    thread = threading.Thread(target=one.open)
    thread.start()
    assert begun.wait(20)
    one.close()
    assert made[0].log == ["make"], "leaving does not wait"
    go.set()
    thread.join(20)
    assert made[0].log == ["make", "start", "close"]


def test_a_closed_session_makes_no_environment():
    made = []
    one = session(made)
    one.close()
    with pytest.raises(RuntimeError, match="is over"):
        one.open()
    assert made == []


def test_a_second_close_waits_for_the_first_report():
    begun, go, found = threading.Event(), threading.Event(), []

    class Slow(Chamber):
        def report(self):
            begun.set()
            assert go.wait(20)
            return {"slow": True}

    one = EnvSession(Slow, TASK, name="t/0")
    one.open()
    threads = [threading.Thread(target=lambda: found.append(one.report_and_close())) for _ in range(2)]
    threads[0].start()
    assert begun.wait(20)
    threads[1].start()
    go.set()
    for thread in threads:
        thread.join(20)
    assert found == [{"slow": True}] * 2


@pytest.mark.parametrize("error", [NotImplementedError("not yet"), AttributeError("no snapshot")])
def test_an_environment_without_snapshots_is_an_error(error):
    class Bare(Chamber):
        def snapshot(self):
            raise error

    with pytest.raises(InputError, match=r"Bare cannot be forked \(\w+: no\w* \w+\): give it snapshot\(\)"):
        EnvSession(Bare, TASK, name="t/0", snapshots=True).open()
