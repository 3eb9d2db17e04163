from dataclasses import replace

import numpy as np
import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.core.records import Advantages, Branch
from handaxe.credit.return_to_go import return_to_go
from handaxe.losses.corrections.mis import mis
from handaxe.papers.ipa.rollback_starts import rollback_starts
from handaxe.papers.ipa.tapered import tapered
from handaxe.papers.ipa.turn_replay import turn_replay
from handaxe.testing.make_records import make_group, make_rated, make_scores, make_task, make_trajectory
from handaxe.training.loop.batch import make_batch

CONTRACT = [{"starts": rollback_starts(), "credit": return_to_go(gamma=0.9)}]
FILTERS = False
LAYOUT = "UUt pp tTt ppp tTt p"
"""Turns of the ids 3 to 4, 8 to 10 and 14."""
SECOND = Branch("a/0/1", 0, 8)


def played(outcome, *, step=1, began=SECOND, task="a", logp=-0.5, version=0, behaviour=None, advantage=-0.2):
    """A group of attempts of three turns, each begun at the same place."""
    siblings = []
    for _ in outcome:
        one = make_trajectory(layouts=[LAYOUT], logp=logp, version=version)
        if behaviour is not None:
            (sequence,) = one.sequences
            drawn = np.where(sequence.mask, behaviour, 0.0).astype(np.float32)
            one = replace(one, sequences=(replace(sequence, behaviour_logp=drawn),))
        siblings.append(replace(one, branch_of=began))
    group = make_group(trajectories=siblings, task=make_task(id=task), step=step)
    return make_rated(group=group, scores=make_scores(outcome), advantage=[advantage] * len(outcome))


def known(**options):
    """A store with the success a/0/1, drawn at -0.9 by weights 3, whose sampler said -0.4."""
    store = rollback_starts()
    store.learn([played([0.0, 1.0], step=0, began=None, logp=-0.9, behaviour=-0.4, version=3)], step=0)
    assert store.stored["a"].group[0].id == "a/0/1"
    return turn_replay(starts=store, credit=return_to_go(gamma=0.9), **options), store


def test_a_failed_group_gets_the_success_up_to_the_restarted_turn():
    """Turns up to the one at which all four began train, with discounted returns; other siblings are unchanged."""
    select, _ = known()
    failed = played([0.0] * 4)
    (one,) = select([failed])
    assert [t.id for t in one.group] == ["a/1/0/replay/a/0/1", "a/1/1", "a/1/2", "a/1/3"]
    assert one.scores.outcome.tolist() == [1, 0, 0, 0] and one.trained.all()
    (sequence,) = one.group[0].sequences
    assert np.flatnonzero(one.training_mask(0)[0]).tolist() == [3, 4, 8, 9, 10]
    assert np.flatnonzero(sequence.mask).tolist() == [3, 4, 8, 9, 10, 14]
    expected = [0.0] * 3 + [0.81] * 2 + [0.0] * 3 + [0.9] * 3 + [0.0] * 4
    np.testing.assert_allclose(one.advantages.tokens[0][0], expected, rtol=1e-12)
    for i in range(1, 4):
        np.testing.assert_array_equal(one.advantages.tokens[i][0], failed.advantages.tokens[i][0])
        np.testing.assert_array_equal(one.training_mask(i)[0], failed.training_mask(i)[0])
    assert set(sequence.version[sequence.mask].tolist()) == {3}
    np.testing.assert_allclose(sequence.features["old_logp"], sequence.behaviour_logp)
    np.testing.assert_allclose(sequence.logp[sequence.mask], -0.9, rtol=1e-6)


def test_the_replayed_loss_is_the_weighted_negative_log_likelihood_of_the_turns():
    """With ROME's surrogate and a mask: 0.81 (-logp_3 - logp_4) + 0.9 (-logp_8 - logp_9 - logp_10), however much
    sampler and trainer disagreed (exp(-0.9 + 0.4) = 0.61 would have been masked)."""
    select, _ = known()
    (one,) = select([played([0.0, 0.0])])
    batch = make_batch([one], pad_id=0)
    row = int(np.flatnonzero(batch.adv_BT.gt(0).any(1).numpy())[0])
    logp_BT = torch.full_like(batch.adv_BT, -2.0).requires_grad_()
    log_ratio_BT = logp_BT - batch.old_logp_BT
    loss_BT = (
        tapered()(log_ratio_BT, batch.adv_BT, logp_BT)
        * mis(cap=1.2, floor=0.8, unit="turn", weigh=False)(batch).weight_BT
    )
    loss = (loss_BT * batch.mask_BT)[row].sum()
    loss.backward()
    assert loss.item() == pytest.approx(2 * (2 * 0.81 + 3 * 0.9))
    expected = [0.0] * 3 + [-0.81] * 2 + [0.0] * 3 + [-0.9] * 3 + [0.0] * 4
    assert logp_BT.grad[row].tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("group", "helped"),
    [
        (played([0.0, 0.0]), True),
        (played([np.nan, 0.0]), True),
        (played([0.0, 0.5]), True),  # 0.5 is not above 0.5
        (played([0.0, 0.6]), False),
        (played([np.nan, np.nan]), False),
        (played([0.0, 0.0], began=None), False),
        (played([0.0, 0.0], began=Branch("a/0/9", 0, 8)), False),  # the store has moved on
        (played([0.0, 0.0], began=Branch("a/0/1", 0, 9)), False),  # no turn begins there
        (played([0.0, 0.0], task="b"), False),
        (played([0.0]), True),
    ],
)
def test_only_groups_without_a_correct_sibling_are_replayed(group, helped):
    select, _ = known()
    (one,) = select([group])
    assert ("/replay/" in one.group[0].id) == helped and (helped or one is group)


def test_siblings_with_different_starts_are_unchanged():
    select, _ = known()
    group = played([0.0, 0.0])
    siblings = (group.group[0], replace(group.group[1], branch_of=None))
    mixed = group.with_group(replace(group.group, trajectories=siblings))
    assert select([mixed])[0] is mixed


def test_turn_replay_scales_by_its_weight():
    select, _ = known(weight=0.25)
    assert select([played([0.0])])[0].advantages.tokens[0][0].max() == pytest.approx(0.25 * 0.9)
    off, _ = known(weight=0.0)
    group = played([0.0])
    assert off([group])[0] is group
    for wrong in (-0.1, np.inf, np.nan):
        with pytest.raises(InputError, match="finite weight of 0 or more"):
            turn_replay(starts=rollback_starts(), credit=return_to_go(), weight=wrong)


def test_turn_replay_does_not_change_the_store():
    select, store = known()
    before = store.state_dict()
    select([played([0.0, 0.0])])
    np.testing.assert_equal(store.state_dict(), before)
    other = rollback_starts()
    other.load_state_dict(before)
    store.load_state_dict(rollback_starts().state_dict())
    group = played([0.0, 0.0])
    assert select([group])[0] is group, "the store was put back to nothing"
    again = turn_replay(starts=other, credit=return_to_go())([group])[0]
    assert again.group[0].id == "a/1/0/replay/a/0/1"


def test_replayed_groups_have_value_targets_and_channels():
    select, store = known()
    group = played([0.0, 0.0])
    ones = tuple(tuple(np.ones_like(own) for own in rows) for rows in group.advantages.tokens)
    full = Advantages(group.advantages.tokens, returns=ones, channels={"more": ones})
    store.stored["a"] = replace(
        store.stored["a"], advantages=replace(store.stored["a"].advantages, returns=((np.full(15, 7.0),),))
    )
    (one,) = select([replace(group, advantages=full)])
    assert set(one.advantages.returns[0][0].tolist()) == {7.0} and one.advantages.returns[1] is ones[1]
    assert not one.advantages.channels["more"][0][0].any() and one.advantages.channels["more"][1] is ones[1]


def test_siblings_that_began_at_different_turns_get_the_success_up_to_the_latest():
    """Two began at the second turn and two at the third: turns 1 to 3 train. One that began elsewhere forbids it."""
    select, _ = known()
    failed = played([0.0] * 4)
    third = Branch("a/0/1", 0, 14)
    spread = [replace(one, branch_of=third) if i % 2 else one for i, one in enumerate(failed.group)]
    (one,) = select([failed.with_group(replace(failed.group, trajectories=tuple(spread)))])
    assert np.flatnonzero(one.training_mask(0)[0]).tolist() == [3, 4, 8, 9, 10, 14]
    np.testing.assert_allclose(one.advantages.tokens[0][0][[3, 8, 14]], [0.81, 0.9, 1.0])
    spread[0] = replace(spread[0], branch_of=None)
    (same,) = select([failed.with_group(replace(failed.group, trajectories=tuple(spread)))])
    assert "/replay/" not in same.group[0].id
