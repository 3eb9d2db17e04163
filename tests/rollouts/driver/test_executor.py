"""Every executor keeps the protocol: each answer once, errors as answers, nothing after it was forgotten."""

from contextlib import closing

import pytest

from handaxe.core.records import ParsedTurn
from handaxe.core.requests import Act, Work
from handaxe.rollouts.driver.executor import Answer, Executor
from handaxe.rollouts.driver.workers import Workers
from handaxe.testing.simulated import SimulatedClock, SimulatedWorkers

EXECUTORS = pytest.mark.parametrize(
    "make",
    [lambda: Workers(2), lambda: SimulatedWorkers(SimulatedClock(), lambda request: 1.0)],
    ids=["Workers", "SimulatedWorkers"],
)


class Squaring:
    def step(self, turn, *, seed):
        return seed * seed


def fails():
    raise OSError("gone")


@EXECUTORS
def test_each_request_is_answered_once(make):
    with closing(make()) as executor:
        assert isinstance(executor, Executor) and executor.ready(None) == [] and len(executor) == 0
        executor.submit(0, Act(Squaring(), ParsedTurn(""), 7))
        executor.submit(1, Work(lambda: "worked"))
        executor.submit(2, Work(fails))
        answers = []
        while len(executor):
            answers += executor.ready(None)
        assert sorted(ticket for ticket, _ in answers) == [0, 1, 2]
        found = dict(answers)
        assert found[0] == Answer(49) and found[1] == Answer("worked")
        assert isinstance(found[2].error, OSError) and found[2].value is None


@EXECUTORS
def test_forgotten_requests_get_no_answer(make):
    with closing(make()) as executor:
        executor.submit(0, Work(lambda: "dropped"))
        executor.submit(1, Work(lambda: "kept"))
        executor.forget(0)
        answers = []
        while len(executor):
            answers += executor.ready(None)
        assert answers == [(1, Answer("kept"))]
