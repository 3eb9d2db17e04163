import json
from collections import Counter

import pytest

from handaxe.core.errors import CheckpointError, TaskError
from handaxe.core.records import Message, Task
from handaxe.curricula.by_weight import by_weight

WEIGHTS = {"a": 3, "b": 1, "c": 0.25, "d": 2.75}


def task(name, weight=None):
    return Task(name, (Message("user", f"{name}?"),), metadata={} if weight is None else {"weight": weight})


TASKS = [task(name, weight) for name, weight in WEIGHTS.items()]


def ids(tasks):
    return [one.id for one in tasks]


@pytest.mark.parametrize("seed", range(5))
def test_counts_differ_from_the_weights_by_less_than_one(seed):
    """The oracle is the mean m_i per epoch; an epoch ends where its length, the sum of occurrences, is reached."""
    curriculum = by_weight(TASKS, seed=seed)
    total = sum(WEIGHTS.values())
    drawn = ids(curriculum.next(0, 400))
    for epoch in (1, 10, 100):
        upto = curriculum._stops[epoch] if epoch < len(curriculum._stops) else len(drawn)
        if upto <= len(drawn):
            counts = Counter(drawn[:upto])
            assert all(abs(counts[name] - epoch * 4 * weight / total) < 1 for name, weight in WEIGHTS.items())
    share = Counter(drawn)["a"] / len(drawn)
    assert abs(share - 3 / total) < 2 / 400 + 0.01


def test_equal_weights_give_every_task_once_per_epoch():
    drawn = ids(by_weight([task("a"), task("b", 1), task("c", 1.0)], seed=3).next(0, 300))
    assert all(sorted(drawn[k : k + 3]) == ["a", "b", "c"] for k in range(0, 300, 3))


def test_a_step_repeats_and_a_seed_changes_the_order():
    curriculum = by_weight(TASKS, seed=0)
    first = ids(curriculum.next(0, 20))
    assert ids(curriculum.next(0, 30))[:20] == first
    assert ids(by_weight(TASKS, seed=1).next(0, 20)) != first


def test_resume_continues_exactly():
    whole, part = by_weight(TASKS, seed=0), by_weight(TASKS, seed=0)
    wanted = [ids(whole.next(step, 7)) for step in range(40)]
    for step in range(15):
        part.next(step, 7)
    again = by_weight(TASKS, seed=0)
    again.load_state_dict(json.loads(json.dumps(part.state_dict())))
    assert [ids(again.next(step, 7)) for step in range(14, 40)] == wanted[14:]


def test_other_weights_cannot_resume():
    state = by_weight(TASKS, seed=0).state_dict()
    with pytest.raises(CheckpointError, match="other tasks"):
        by_weight([task("a", 2), *TASKS[1:]], seed=0).load_state_dict(state)


@pytest.mark.parametrize("weight", [0, -1, "1", True, float("inf"), float("nan")])
def test_a_bad_weight_raises(weight):
    with pytest.raises(TaskError, match="task 'z' has .* as metadata 'weight'; give a number above 0"):
        by_weight([*TASKS, task("z", weight)])
