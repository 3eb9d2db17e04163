"""Classes of difficulty by hand and by a slow twin, and the order of tasks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Scores, Task
from handaxe.papers.tool_star.difficulty_classes import difficulty_classes, sort_tasks, success_rates
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.training.sft.supervised import as_rated


def rated(name, *answers):
    task = Task(name, (Message("user", "?"),), "1")
    group = make_group(task=task, trajectories=[make_trajectory(texts=["x"], task=task) for _ in answers])
    made = as_rated(list(group))
    return type(made).of(group, Scores(np.ones(len(answers)), channels={"answer": np.array(answers)}), made.advantages)


def test_rates_are_of_scored_rollouts():
    found = success_rates([rated("a", 1.0, 0.0, np.nan, 1.0), rated("b", np.nan), rated("c", 0.5)])
    assert found == {"a": pytest.approx(2 / 3), "c": 0.0}


def test_by_hand():
    found = difficulty_classes({"a": 0.75, "b": 0.0, "c": 0.0, "d": 0.49}, {"b": 0.25, "c": 0.0, "a": 1.0})
    assert found == {"a": "direct", "b": "tool", "c": "hard", "d": "hard"}


RATES = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]))


@given(RATES, RATES, st.sampled_from([0.25, 0.5, 1.0]))
def test_slow_twin(direct, tools, least):
    expected = {}
    for name in direct:
        if direct[name] >= least:
            expected[name] = "direct"
        elif name in tools and tools[name] > 0:
            expected[name] = "tool"
        else:
            expected[name] = "hard"
    assert difficulty_classes(direct, tools, least=least) == expected


def test_tasks_go_from_easy_to_hard_without_the_direct_ones():
    tasks = [Task(name, (Message("user", "?"),), "1") for name in "abcde"]
    classes = {"a": "direct", "b": "tool", "c": "hard", "d": "tool"}
    order = sort_tasks(tasks, classes, {"b": 0.25, "d": 0.75})
    assert [(one.id, one.metadata["class"]) for one in order] == [("d", "tool"), ("b", "tool"), ("c", "hard")]
    assert [one.id for one in sort_tasks(tasks, {"a": "direct"}, {})] == ["a"], "a run needs tasks"


def test_wrong_input():
    with pytest.raises(InputError, match="least is 0"):
        difficulty_classes({}, {}, least=0)
