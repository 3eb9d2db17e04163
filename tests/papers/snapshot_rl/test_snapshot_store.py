from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Group, Message, Sampling, Task
from handaxe.core.requests import Attempt
from handaxe.papers.snapshot_rl.snapshot_store import SnapshotStore
from handaxe.rewards.outcome import outcome
from handaxe.testing.make_records import make_rated, make_scores, make_task, make_trajectory
from handaxe.worlds.world import World

pytest.importorskip("sklearn")
TURNS = (4, 4, 4, 1)


@pytest.fixture
def store():
    world = World(
        name="none",
        tasks=lambda split, count, seed: [],
        env=lambda tools: None,
        correct=outcome(lambda one: 1.0),
        expert=lambda task, facts: Message("assistant", ""),
    )
    made = SnapshotStore(world=world, clusters=2, episodes=4, best=4)
    tasks = [make_task(id=f"t{n}") for n in range(4)]
    made.fill([make_trajectory(layouts=["U" + "t p T" * n], task=task, id=task.id) for n, task in zip(TURNS, tasks)])
    return made


def attempt_at(task, step):
    return Attempt(task, None, None, Sampling(), "a", 0, 0, 100, step=step)


def test_a_draw_without_snapshots_is_refused(store):
    store.classes = ()
    with pytest.raises(InputError, match="run the stage of the store"):
        store.draw(0, 1, seed=0)


def test_a_step_starts_once_in_a_task(store):
    for step in range(30):
        assert len({task.id for task in store.draw(step, 4, seed=0)}) == 4
    with pytest.raises(InputError, match="the snapshots have 4 tasks, and a step 5"):
        store.draw(99, 5, seed=0)


def test_starts_follow_the_classes(store):
    """The classes have 9 and 4 of 13 snapshots, and half of the draws each."""
    assert [len(one) for one in store.classes] == [9, 4]
    numbers = []
    for step in range(2000):
        (task,) = store.draw(step, 1, seed=1)
        recorded, turn = store.start(attempt_at(task, step))
        (found,) = [n for n, one in enumerate(store.snapshots) if one[:2] == (recorded, turn)]
        (number,) = [k for k, one in enumerate(store.classes) if found in one]
        numbers.append(number)
    assert np.mean(numbers) == pytest.approx(0.5, abs=0.04)


def test_the_learner_reports_shares_and_classes(store):
    (task,) = store.draw(3, 1, seed=0)
    recorded, turn = store.start(attempt_at(task, 3))
    assert store.start(attempt_at(task, 4)) is None and store.start(attempt_at(Task("other", ()), 3)) is None
    began = replace(recorded, id="b", branch_of=Branch(recorded.id, 0, 2))
    group = Group(task, (began, replace(recorded, id="a")), 3)
    rated = make_rated(group=group, scores=make_scores([1, 0]))
    assert store.learn([rated], step=3) == {"from_snapshot": 0.5, "classes": 1.0, "elapsed": float(turn)}
    assert store.learn([], step=4) == {"from_snapshot": 0.0}
    copy = store.state_dict()
    store.load_state_dict({"drawn": []})
    assert store.start(attempt_at(task, 3)) is None
    store.load_state_dict(copy)
    assert store.start(attempt_at(task, 3)) == (recorded, turn)
