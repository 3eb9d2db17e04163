from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Message, Sampling
from handaxe.core.requests import Attempt
from handaxe.papers.archer.replayed_states import replayed_states
from handaxe.testing.make_records import make_group, make_rated, make_scores, make_task, make_trajectory


def attempt(name, step=0):
    return Attempt(make_task(id=name), None, None, Sampling(), "a", 0, 0, 100, step=step)


def group(name, *turns, outcomes=None, step=0, began=False):
    """A group whose attempts have so many turns each."""
    made = make_group(layouts=["U" + "t p T" * count for count in turns], task=make_task(id=name), step=step)
    branch = Branch("old", 0, 4) if began else None
    siblings = tuple(replace(one, id=f"{step}/{name}/{i}", branch_of=branch) for i, one in enumerate(made))
    scores = make_scores(outcomes or [0.0] * len(turns))
    return make_rated(group=replace(made, trajectories=siblings), scores=scores)


def drawn(store, name, steps=400):
    return Counter((found[0].id, found[1]) for step in range(steps) if (found := store(attempt(name, step))))


def test_states_are_uniform_over_all_stored_turns():
    store = replayed_states()
    assert store(attempt("t")) is None
    assert store.learn([group("t", 1, 3), group("u", 2)], step=0) == {"stored": 3, "age": 0}
    found = drawn(store, "t")
    assert set(found) == {("0/t/0", 0), ("0/t/1", 0), ("0/t/1", 1), ("0/t/1", 2)}
    assert all(60 <= count <= 140 for count in found.values())
    assert set(drawn(store, "u")) == {("0/u/0", 0), ("0/u/0", 1)} and store(attempt("v")) is None


def test_states_of_older_policies_stay_until_the_memory_is_full():
    store = replayed_states(memory=4)
    said = [store.learn([group("t", 1, 1, step=step)], step=step) for step in range(4)]
    assert said == [{"stored": 2, "age": 0}, *({"stored": 4, "age": 0.5},) * 3]
    assert {id for id, _ in drawn(store, "t")} == {"2/t/0", "2/t/1", "3/t/0", "3/t/1"}


def test_the_same_step_and_task_give_the_same_state_and_seeds_differ():
    store, other = replayed_states(), replayed_states(seed=1)
    for one in (store, other):
        one.learn([group("t", 4, 4)], step=0)
    assert drawn(store, "t", 20) == drawn(store, "t", 20) != drawn(other, "t", 20)


def test_restarted_and_unscored_rollouts_are_not_stored():
    store = replayed_states()
    store.learn([group("t", 2, 2, began=True), group("u", 2, 2, outcomes=[np.nan, 1.0])], step=0)
    assert [one.group[0].id for one in store.stored] == ["0/u/1"]


@pytest.mark.parametrize(
    "change", [{"aux_turns": (make_trajectory(),)}, {"by": "user"}, {"notes": {"anew": [{"read": [0], "then": 2}]}}]
)
def test_rollouts_that_cannot_be_resumed_are_not_stored(change):
    store, one = replayed_states(), group("t", 2, 2)
    siblings = (replace(one.group[0], **change), one.group[1])
    store.learn([one.with_group(replace(one.group, trajectories=siblings))], step=0)
    assert [one.group[0].id for one in store.stored] == ["0/t/1"]


def test_a_task_with_another_opening_has_no_state():
    store, task = replayed_states(), make_task(id="t")
    store.learn([group("t", 2)], step=0)
    other = replace(attempt("t"), task=replace(task, messages=(*task.messages, Message("user", "now"))))
    assert store(other) is None and store(attempt("t")) is not None


def test_replayed_states_resumes_from_its_state():
    store, other = replayed_states(memory=3), replayed_states(memory=3)
    store.learn([group("t", 2, 3), group("u", 1)], step=0)
    other.load_state_dict(store.state_dict())
    np.testing.assert_equal(other.state_dict(), store.state_dict())
    for one in (store, other):
        one.learn([group("t", 5, step=1)], step=1)
    assert drawn(store, "t") == drawn(other, "t")


def test_a_memory_below_1_is_rejected():
    with pytest.raises(InputError, match="memory"):
        replayed_states(memory=0)
