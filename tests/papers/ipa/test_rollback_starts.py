from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Message, Sampling
from handaxe.core.requests import Attempt
from handaxe.papers.ipa.rollback_starts import rollback_starts
from handaxe.testing.make_records import make_group, make_rated, make_scores, make_task, make_trajectory


def attempt(task):
    return Attempt(task, None, None, Sampling(), "a", 0, 0, 100)


def group(name, outcomes, *, turns=4, began=False, tag=""):
    """A group of attempts of so many turns each; `began`: in a recorded one."""
    made = make_group(layouts=["U" + "t p T" * turns] * len(outcomes), task=make_task(id=name))
    siblings = [
        replace(one, id=f"{name}{tag}/{i}", branch_of=Branch("old", 0, 4) if began else None)
        for i, one in enumerate(made)
    ]
    return make_rated(group=replace(made, trajectories=tuple(siblings)), scores=make_scores(outcomes))


def place(store, name):
    found = store(attempt(make_task(id=name)))
    return found and (found[0].id, found[1])


def test_a_solved_start_moves_one_turn_back():
    store = rollback_starts()
    assert place(store, "t") is None
    assert store.learn([group("t", [0, 1, 0, 0])], step=0) == {"stored": 1, "depth": 1, "solved": 0}
    assert place(store, "t") == ("t/1", 3)
    assert store.learn([group("t", [0, 1, 1, 0], began=True, tag="b")], step=1) == {
        "stored": 1,
        "depth": 2,
        "solved": 1,
    }
    assert place(store, "t") == ("tb/2", 2), "the latest success, one turn earlier"


def test_a_store_that_does_not_move_keeps_the_last_turn():
    store = rollback_starts(moves=False)
    store.learn([group("t", [0, 1, 0, 0])], step=0)
    found = store.learn([group("t", [1, 1, 1, 1], began=True, tag="b")], step=1)
    assert (found["depth"], found["solved"], place(store, "t")) == (1, 1, ("tb/3", 3))


def test_an_unsolved_start_stays():
    store = rollback_starts()
    store.learn([group("t", [1, 1])], step=0)
    store.learn([group("t", [1, 1], tag="x")], step=1)
    assert place(store, "t") == ("tx/1", 3), "successes from the beginning say nothing of the start"
    store.learn([group("t", [0, 0, 1], began=True)], step=2)
    assert place(store, "t")[1] == 3
    store.learn([group("t", [np.nan, np.nan], began=True)], step=3)
    assert place(store, "t")[1] == 3
    store.learn([group("t", [np.nan, 1.0, 0.0], began=True)], step=4)
    assert place(store, "t")[1] == 2, "half of those that were scored"


def test_rollback_starts_equals_a_slow_loop():
    rng, store, depth, last = np.random.default_rng(0), rollback_starts(solved=0.6), {}, {}
    for step in range(30):
        groups = []
        for name in "abc":
            count, began = int(rng.integers(2, 6)), place(store, name) is not None and bool(rng.integers(2))
            outcome = rng.integers(0, 2, 4).astype(float)
            groups.append(group(name, outcome.tolist(), turns=count, began=began, tag=f"-{step}"))
            if began and outcome.mean() >= 0.6:
                depth[name] = min(depth[name] + 1, last[name][1])
            if outcome.any():
                last[name] = (f"{name}-{step}/{max(np.flatnonzero(outcome))}", count)
                depth.setdefault(name, 1)
        store.learn(groups, step=step)
        for name, (id, count) in last.items():
            turn = count - depth[name]
            assert place(store, name) == ((id, turn) if turn > 0 else None)
    assert max(depth.values()) > 2


def test_a_start_at_the_first_turn_gives_none():
    store = rollback_starts()
    store.learn([group("t", [1.0], turns=2)], step=0)
    assert place(store, "t") == ("t/0", 1)
    for step in (1, 2, 3):
        store.learn([group("t", [1.0], turns=2, began=True)], step=step)
        assert place(store, "t") is None and store.depth["t"] == 2


def test_unscored_and_single_turn_rollouts_are_not_stored():
    store = rollback_starts(above=0.5)
    store.learn([group("t", [0.5, np.nan]), group("u", [1.0], turns=1)], step=0)
    assert not store.stored


@pytest.mark.parametrize(
    "change", [{"aux_turns": (make_trajectory(),)}, {"by": "user"}, {"notes": {"anew": [{"read": [0], "then": 2}]}}]
)
def test_a_success_that_cannot_be_resumed_keeps_the_older_one(change):
    store, one = rollback_starts(), group("t", [0, 1], tag="2")
    store.learn([group("t", [1, 0])], step=0)
    siblings = (one.group[0], replace(one.group[1], **change))
    store.learn([one.with_group(replace(one.group, trajectories=siblings))], step=1)
    assert place(store, "t") == ("t/0", 3)


def test_a_task_with_other_messages_has_no_start():
    store = rollback_starts()
    store.learn([group("t", [1.0])], step=0)
    other = replace(make_task(id="t"), messages=(Message("system", "Be short."), *make_task(id="t").messages))
    assert store(attempt(other)) is None and store(attempt(make_task(id="t"))) is not None


def test_rollback_starts_restores_state_and_drops_the_oldest_task():
    store, other = rollback_starts(tasks=2), rollback_starts(tasks=2)
    store.learn([group("a", [1.0]), group("b", [1.0]), group("a", [1.0], tag="2"), group("c", [1.0])], step=0)
    assert set(store.stored) == {"a", "c"} == set(store.depth)
    store.learn([group("a", [1.0], began=True)], step=1)
    other.load_state_dict(store.state_dict())
    assert [place(other, name) for name in "abc"] == [place(store, name) for name in "abc"]
    np.testing.assert_equal(other.state_dict(), store.state_dict())
    more = [group("c", [1.0, 0.0], began=True, tag="z")]
    assert other.learn(more, step=2) == store.learn(more, step=2)


def test_rollback_starts_reads_a_channel():
    one = group("t", [0.0, 0.0])
    store = rollback_starts(channel="correct")
    scores = replace(one.scores, channels={"correct": np.array([0.0, 1.0])})
    store.learn([one.with_group(one.group, scores)], step=0)
    assert place(store, "t") == ("t/1", 3)


def test_rollback_starts_refuses_numbers_out_of_range():
    for wrong in ({"solved": 0}, {"solved": 1.1}, {"tasks": 0}):
        with pytest.raises(InputError):
            rollback_starts(**wrong)
