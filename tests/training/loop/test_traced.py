from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from handaxe.core.batch import LossOut
from handaxe.core.records import Advantages, Group, Rated, Scores
from handaxe.papers.recompose.recompose import recompose
from handaxe.selection.drop_equal_groups import drop_equal_groups
from handaxe.selection.mask_overlong import mask_overlong
from handaxe.selection.pipe import pipe
from handaxe.testing.make_records import make_trajectory
from handaxe.training.loop.traced import Pushed, Traced, ages
from handaxe.training.loop.update import update

LAYOUTS = (["UUt pp tTt p"], ["UUt pp", "UUttTt p"], ["UUt p"], ["UUt ppp"])


def rated(name, outcomes, *, ending="completed", advantages=None):
    siblings = [replace(make_trajectory(layouts=LAYOUTS[i]), id=f"{name}/{i}") for i in range(len(outcomes))]
    siblings[0] = replace(siblings[0], ending=make_trajectory(ending=ending).ending)
    values = np.array(outcomes, float) if advantages is None else np.array(advantages, float)
    tokens = tuple(tuple(np.where(s.mask, v, 0.0) for s in t.sequences) for v, t in zip(values, siblings))
    group = Group(siblings[0].task, tuple(siblings))
    return Rated(group, Scores(np.array(outcomes, float)), Advantages(tokens), np.ones(len(siblings), bool))


def test_the_first_selector_that_took_something_out_is_told():
    inner = pipe(mask_overlong(), partial(lambda few, rated: rated[:few], 2))
    select = pipe(inner, drop_equal_groups())
    groups = [rated("a", [1, 0], ending="truncated"), rated("b", [1, 1], ending="truncated"), rated("c", [1, 0])]
    traced = Traced(select)
    alone, kept = select(groups), traced(groups)
    assert [one.group for one in kept] == [one.group for one in alone] == [groups[0].group]
    assert [one.trained.tolist() for one in kept] == [one.trained.tolist() for one in alone] == [[False, True]]
    last = dict.fromkeys(("c/0", "c/1"), "test_the_first_selector_that_took_something_out_is_told")
    assert traced.left_out_by == {"a/0": "mask_overlong", "b/0": "mask_overlong", "b/1": "drop_equal_groups"} | last


def test_a_selector_that_remembers_goes_on_remembering():
    select = recompose(capacity=0)
    traced = Traced(select)
    traced([rated("a", [1, 0, 0, 1])])
    assert set(traced.left_out_by.values()) <= {"Recompose"} and traced.left_out_by
    first = dict(traced.left_out_by)
    traced([rated("b", [1, 0, 0, 1])])
    assert not first.keys() & traced.left_out_by.keys(), "of the last call"


def test_tokens_that_a_selector_takes_out_count():
    def half(rated):
        trains = [tuple(tuple(np.arange(len(s)) % 2 == 0 for s in t.sequences) for t in one.group) for one in rated]
        return [replace(one, advantages=replace(one.advantages, trains=own)) for one, own in zip(rated, trains)]

    traced = Traced(half)
    traced([rated("a", [1, 0])])  # the policy's tokens stand at 3, 4 and 8
    assert traced.left_out_by == dict.fromkeys(("a/0", "a/1"), "test_tokens_that_a_selector_takes_out_count")


def centre(policy, batch):
    value = -(batch.adv_BT.clamp(min=0) * batch.mask_BT * policy.logp_BT).sum()
    return LossOut(value, {})


@pytest.mark.parametrize("rows", [1, 3, 64])
def test_the_tokens_that_a_loss_moves(world, rows):
    """A loss that stops at advantages below 0, whatever minibatches and micro-batches it is asked in."""
    groups = [rated("a", [1, 0, 0, 1], advantages=[1, -1, 0, 2]), rated("b", [1, 0], advantages=[-1, 1])]
    groups[0].trained[3] = False
    pushed = Pushed()
    engine = world.make_engine()
    update(
        engine,
        centre,
        groups,
        epochs=2,
        parts=2,
        rows=rows,
        learning_rate=0.0,
        rng=np.random.default_rng(0),
        pushed=pushed,
    )
    assert set(pushed.found) == {"a/0", "a/1", "a/2", "b/0", "b/1"}
    for one in groups:
        for i, trajectory in enumerate(one.group):
            for s, sequence in enumerate(trajectory.sequences):
                if one.trained[i]:
                    wanted = sequence.mask & (one.advantages.tokens[i][s] > 0)
                    assert pushed.found[trajectory.id][s].tolist() == wanted.tolist()


def test_watching_changes_nothing(world):
    found = []
    for pushed in (None, Pushed()):
        engine = world.make_engine()
        groups = [rated("a", [1, 0, 0, 1], advantages=[1, -1, 0, 2])]
        update(
            engine,
            world.reinforce,
            groups,
            epochs=1,
            parts=1,
            rows=2,
            learning_rate=0.1,
            rng=np.random.default_rng(0),
            pushed=pushed,
        )
        found.append(world.weights(engine))
    assert world.same(*found)


def test_how_old_the_oldest_token_is():
    """As in the example: weights of version 0, 2 and 4 began steps 0, 1 and 2."""
    new, mixed, old = (make_trajectory(layouts=["UUt pp"], version=version) for version in (4, 4, 1))
    mixed.sequences[0].version[4] = 2
    nothing = make_trajectory(layouts=["UUt"])
    forced = make_trajectory(layouts=["UUt ff"])
    np.testing.assert_array_equal(ages([new, mixed, old, nothing, forced], [0, 2, 4]), [0, 1, 2, np.nan, np.nan])
    assert np.isnan(ages([new], [])).all()
