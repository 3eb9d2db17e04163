from dataclasses import replace

import pytest

from handaxe.core.records import Message
from handaxe.testing.task_contract import check_tasks
from handaxe.worlds.parts.arithmetic_tasks import tasks


def exact(task, text):
    return float(text == task.answer)


def test_good_tasks_pass():
    made = tasks(count=5, seed=0)
    check_tasks(made, exact)
    check_tasks([replace(made[0], answer=None)], lambda task, text: float(text == "x"), oracle=lambda task: "x")


def test_each_fault_is_named():
    good = tasks(count=2, seed=0)
    draws = iter([1.0, 0.0, 0.0] * 9)
    faults = [
        ([], exact, "there are no tasks"),
        ([good[0], good[0]], exact, "is used 2 times"),
        ([replace(good[0], messages=(Message("user", " "),))], exact, "has no text"),
        ([replace(good[0], metadata={"a": (1,)})], exact, "change on their way through JSON"),
        ([replace(good[0], metadata={"a": {1}})], exact, "are not JSON"),
        ([replace(good[0], answer=None)], exact, "give an oracle"),
        (good, lambda task, text: 0.0, "scores 0.0"),
        (good, lambda task, text: 1.0, "the empty answer scores 1.0"),
        (good[:1], lambda task, text: next(draws), "scored differently"),
    ]
    for made, score, message in faults:
        with pytest.raises(AssertionError, match=message):
            check_tasks(made, score)
