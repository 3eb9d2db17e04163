import json

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.curricula.in_order import in_order
from handaxe.papers.unipic2.staged import staged

TASKS = [
    Task(f"{kind}{k}", (Message("user", f"{kind}{k}?"),), metadata={"kind": kind}) for kind in "ab" for k in range(5)
]


def make(switch=2, parts=("a", "b"), seed=0):
    return staged(key="kind", parts=parts, switch=switch)(TASKS, seed)


def ids(tasks):
    return [one.id for one in tasks]


def test_stages_equal_the_orders_of_their_parts():
    curriculum = make()
    first, second = in_order(TASKS[:5], seed=0), in_order(TASKS[5:], seed=0)
    for step in range(6):
        own = first if step < 2 else second
        assert ids(curriculum.next(step, 3)) == ids(own.next(step, 3))
        assert ids(curriculum.next(step, 3)) == ids(own.next(step, 3))  # a repeated request


def test_the_order_of_parts_decides_the_first_stage():
    assert {one[0] for one in ids(make(parts=("b", "a")).next(0, 4))} == {"b"}
    assert {one[0] for one in ids(make(parts=("b", "a")).next(2, 4))} == {"a"}


def test_resume_continues_exactly():
    whole, part, again = make(), make(), make()
    wanted = [ids(whole.next(step, 3)) for step in range(-1, 8)]
    for step in range(-1, 4):
        part.next(step, 3)
    again.load_state_dict(json.loads(json.dumps(part.state_dict())))
    assert [ids(again.next(step, 3)) for step in range(3, 8)] == wanted[4:]


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="switch=0"):
        make(switch=0)
    with pytest.raises(InputError, match="no task has 'c'"):
        make(parts=("a", "c"))
    with pytest.raises(InputError, match="give two parts"):
        make(parts=("a",))
