import json
from collections import Counter

import pytest

from handaxe.core.errors import CheckpointError, InputError, TaskError
from handaxe.core.records import Message, Task
from handaxe.curricula.in_order import in_order
from handaxe.curricula.interleaved import interleaved
from handaxe.ops.seeds import generator

WEIGHTS = {"x": 3, "y": 1, "z": 2}
TASKS = [
    Task(f"{part}{k}", (Message("user", f"{part}{k}?"),), metadata={"part": part}) for part in "xyz" for k in range(5)
]


def make(weights=WEIGHTS, seed=0, **around):
    return interleaved(key="part", weights=weights, around=around)(TASKS, seed)


def ids(tasks):
    return [one.id for one in tasks]


@pytest.mark.parametrize("seed", range(3))
def test_order_equals_the_oracle(seed):
    """Each cycle is a seeded permutation of x x x y z z; the k-th place of a part has the k-th task of its order."""
    queues = {
        part: iter(ids(in_order([one for one in TASKS if one.id[0] == part], seed=seed).next(0, 100))) for part in "xyz"
    }
    wanted = []
    for cycle in range(8):
        order = generator("interleaved", seed, cycle).permutation(6)
        wanted += [next(queues["xxxyzz"[k]]) for k in order]
    curriculum = make(seed=seed)
    assert [one for step in range(6) for one in ids(curriculum.next(step, 8))] == wanted


def test_every_cycle_has_exact_proportions():
    curriculum = make()
    for step in range(20):
        assert Counter(one.id[0] for one in curriculum.next(step, 6)) == WEIGHTS


def test_seeds_give_other_orders_and_a_step_repeats():
    curriculum = make()
    first = ids(curriculum.next(0, 6))
    assert ids(curriculum.next(0, 12))[:6] == first and ids(make(seed=1).next(0, 6)) != first


def test_resume_continues_exactly():
    whole, part = make(), make()
    wanted = [ids(whole.next(step, 5)) for step in range(30)]
    for step in range(11):
        part.next(step, 5)
    again = make()
    again.load_state_dict(json.loads(json.dumps(part.state_dict())))
    assert [ids(again.next(step, 5)) for step in range(10, 30)] == wanted[10:]
    with pytest.raises(CheckpointError, match="mixed other parts, weights or seeds"):
        make(weights={**WEIGHTS, "y": 2}).load_state_dict(part.state_dict())


def test_a_part_may_have_a_curriculum_of_its_own():
    curriculum = make(x=lambda tasks, seed: in_order(tasks[:2], seed=seed, shuffle=False))
    drawn = [one.id for one in curriculum.next(0, 12) if one.id[0] == "x"]
    assert drawn == ["x0", "x1", "x0", "x1", "x0", "x1"]


def test_results_go_to_the_curriculum_of_their_part():
    seen = {}

    class Spy:
        def __init__(self, tasks):
            self.part = tasks[0].id[0]

        def observe(self, groups):
            seen[self.part] = [one.group.task.id for one in groups]

    curriculum = make(**{part: lambda tasks, seed: Spy(tasks) for part in "xyz"})
    groups = [type("G", (), {"group": type("H", (), {"task": one})}) for one in TASKS[::5]]
    curriculum.observe(groups)
    assert seen == {"x": ["x0"], "y": ["y0"], "z": ["z0"]}


def test_a_part_without_tasks_and_a_shared_task_raise():
    with pytest.raises(InputError, match="no task has 'w' as metadata 'part'"):
        make(weights={**WEIGHTS, "w": 1})
    twice = Task("x0", (Message("user", "?"),), metadata={"part": "y"})
    with pytest.raises(TaskError, match="two tasks share the id 'x0', in 'x' and 'y'"):
        interleaved(key="part", weights=WEIGHTS, around={})([*TASKS, twice], 0)
