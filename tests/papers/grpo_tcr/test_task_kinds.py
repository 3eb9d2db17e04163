import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.papers.grpo_tcr.task_kinds import task_kind, tasks_of_kinds
from handaxe.worlds.arithmetic import arithmetic

TASKS = arithmetic().tasks("train", 400, 0)


def sums(*expressions):
    return [Task(one, (Message("user", one),), "", None, {"expression": one}) for one in expressions]


def test_the_kind_is_the_operator_with_digits():
    assert [task_kind(one) for one in sums("12*345", "3+4")] == ["2*3", "1+1"]
    with pytest.raises(InputError, match="no expression"):
        task_kind(Task("t", (Message("user", "?"),), ""))


def test_the_worked_example_and_its_slow_loop():
    given = sums("3+4", "12*34", "5+5", "123+456", "56*78")
    assert [one.id for one in tasks_of_kinds(given, kinds=1, most=9)] == ["12*34", "56*78"]
    for kinds in (1, 2, 5):
        counts = {}
        for one in TASKS:
            kind = task_kind(one)
            if kind not in ("1+1", "1-1", "1*1"):
                counts[kind] = counts.get(kind, 0) + 1
        best = sorted(counts, key=lambda kind: (-counts[kind], kind))[:kinds]
        expected = [one.id for one in TASKS if task_kind(one) in best][:30]
        assert [one.id for one in tasks_of_kinds(TASKS, kinds=kinds, most=30)] == expected


def test_all_kinds_keep_the_first_tasks():
    assert tasks_of_kinds(TASKS, kinds=0, most=96) == TASKS[:96]


def test_numbers_out_of_range_and_easy_sets_raise():
    for options in ({"kinds": -1, "most": 1}, {"kinds": 1, "most": 0}):
        with pytest.raises(InputError, match="give kinds from 0"):
            tasks_of_kinds(TASKS, **options)
    with pytest.raises(InputError, match="no training task has an operand of two digits"):
        tasks_of_kinds(sums("3+4"), kinds=1, most=3)
