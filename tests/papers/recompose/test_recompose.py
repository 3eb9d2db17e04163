import math
from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.ops.seeds import derive_seed
from handaxe.papers.recompose.recompose import num_calls, num_tokens, recompose
from handaxe.testing.make_records import make_group, make_rated, make_scores, make_task, make_trajectory
from handaxe.training.loop.batch import make_batch
from handaxe.training.loop.schedule import cosine

CONTRACT = [{"capacity": 2}, {"capacity": 3, "share": 0.3, "chance": 0.5, "amount": num_calls}, {"capacity": 0}]
FILTERS = False


def played(pairs, *, step=0, task="a", part=0, logp=-0.5, trained=None):
    """Siblings (reward, tokens) of one group."""
    siblings = [make_trajectory(layouts=["U" + "p" * length], logp=logp) for _, length in pairs]
    group = make_group(trajectories=siblings, task=make_task(id=task), step=step)
    outcome = [float(reward) for reward, _ in pairs]
    return replace(make_rated(group=group, scores=make_scores(outcome), trained=trained), part=part)


def lengths(rated):
    return sorted(t.num_tokens for one in rated for t, kept in zip(one.group, one.trained) if kept)


def test_priority_rollouts_train_and_the_others_wait():
    select = recompose(share=0.5, capacity=4)
    out = select([played([(1, 10), (1, 40), (0, 15), (0, 60)])])
    assert lengths(out) == [10, 60] and out[0].trained.tolist() == [True, False, False, True]
    assert lengths(select.stored) == [15, 40]


def test_the_split_is_over_the_batch_and_groups_without_priority_are_left_out():
    select = recompose(share=0.5, capacity=9)
    out = select([played([(1, 10), (1, 11)]), played([(1, 30), (1, 40)], task="b"), played([(0, 5)], task="c")])
    assert [one.group.task.id for one in out] == ["a", "c"] and lengths(out) == [5, 10, 11]
    assert lengths(select.stored) == [30, 40]


def test_the_oldest_leave_the_buffer_and_train_in_a_separate_part():
    select = recompose(share=0.5, capacity=2)
    select([played([(1, 10), (1, 20), (0, 30), (0, 40)], logp=-0.9)])
    fresh, first, second = select([played([(1, 11), (1, 21), (0, 31), (0, 41)], step=1, task="b", part=2)])
    assert lengths([fresh]) == [11, 41] and fresh.part == 2
    assert lengths([first, second]) == [20, 30] and {first.part, second.part} == {3}
    assert lengths(select.stored) == [21, 31]
    assert first.group[0].id.endswith("/replay/1") and first.group.step == 0
    batch = make_batch([first, second], pad_id=0)
    assert batch.old_logp_BT[batch.mask_BT].unique().tolist() == pytest.approx([-0.9])
    stored = {t.num_tokens: float(one.advantages.tokens[0][0].max()) for one in (first, second) for t in one.group}
    assert stored == {20: 1.0, 30: 0.0}  # as its own group gave them


def test_rollouts_beyond_the_capacity_leave_at_once():
    select = recompose(share=0.5, capacity=0)
    now, *later = select([played([(1, 10), (1, 20), (0, 30), (0, 40)], step=4)])
    assert lengths([now]) == [10, 40] and lengths(later) == [20, 30] and not select.stored
    everything = recompose(share=1.0, capacity=0)([played([(1, 10), (1, 20)])])
    assert lengths(everything) == [10, 20] and len(everything) == 1


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 2, 0, 1, 3)])
def test_ties_do_not_depend_on_the_order_of_siblings(order):
    drawn = sorted((f"x{k}" for k in range(5)), key=lambda name: derive_seed("recompose", 0, name))
    task = make_task(id="a")
    group = Group(task, tuple(make_trajectory(layouts=["Upp"], id=f"x{k}", task=task) for k in order))
    now, *later = recompose(share=0.4, capacity=2)([make_rated(group=group, scores=make_scores([1.0] * 5))])
    assert {t.id for t, kept in zip(now.group, now.trained) if kept} == set(drawn[:2])
    assert [one.group[0].id for one in later] == [f"{drawn[2]}/replay/0"]


def test_unscored_and_masked_rollouts_are_ignored():
    one = played([(1, 10), (1, 20), (1, 30), (1, 40)], trained=[True, True, False, True])
    one.scores.outcome[0] = np.nan
    select = recompose(share=0.5, capacity=4)
    assert lengths(select([one])) == [20] and lengths(select.stored) == [40]


def test_calls_can_be_the_amount():
    few, many = make_trajectory(texts=["", "x"], calls=[["f"], []]), make_trajectory(texts=["x"] * 3, calls=[["f"]] * 3)
    assert (num_calls(few), num_calls(many)) == (1.0, 3.0) and num_tokens(few) == few.num_tokens
    group = make_group(trajectories=[many, few], task=make_task())
    (out,) = recompose(amount=num_calls)([make_rated(group=group, scores=make_scores([1.0, 1.0]))])
    assert out.trained.tolist() == [False, True]


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
def test_recompose_equals_a_slow_loop(chance):
    rng, select = np.random.default_rng(0), recompose(share=0.3, capacity=7, chance=chance)
    waiting, seen, trained, forgotten, taken = [], 0, [], 0, 0
    for step in range(30):
        pairs = [
            [(int(rng.random() < 0.5), length) for length in rng.permutation(60)[:4] + 1 + 60 * k] for k in range(3)
        ]
        flat = sorted(pair for group in pairs for pair in group)
        seen += len(flat)
        right, wrong = [n for r, n in flat if r], [n for r, n in flat if not r]
        first = right[: math.ceil(0.3 * len(right))]
        first += wrong[len(wrong) - math.ceil(0.3 * len(wrong)) :]
        out = select([played(group, step=step, task=f"{step}-{k}") for k, group in enumerate(pairs)])
        later = [one for one in out if one.part]
        assert lengths([one for one in out if not one.part]) == sorted(first)
        trained += [t.id.partition("/replay")[0] for one in out for t, kept in zip(one.group, one.trained) if kept]
        waiting += [len(flat) - len(first)]
        left = max(0, sum(waiting) - 7)
        waiting = [sum(waiting) - left]
        assert len(later) in ((left,) if chance == 1 else (0, left) if chance else (0,))
        taken += bool(later)
        forgotten += left - len(later)
        assert len(select.stored) == waiting[0] <= 7
    assert len(trained) == len(set(trained)) and len(trained) + forgotten + len(select.stored) == seen
    assert (forgotten == 0) == (chance == 1) and (chance != 0.5 or 5 < taken < 25)


def test_the_chance_may_depend_on_the_step():
    select = recompose(share=0.5, capacity=0, chance=cosine(1.0, steps=3))
    counts = [len(select([played([(1, 10), (1, 20)], step=step, task=str(step))])) for step in (0, 3, 9)]
    assert counts == [2, 1, 1]


def test_recompose_refuses_numbers_out_of_range():
    for wrong in ({"share": 0.0}, {"share": 1.1}, {"capacity": -1}):
        with pytest.raises(InputError, match="share is"):
            recompose(**wrong)
    with pytest.raises(InputError, match=r"chance of recompose is 1.5 at step 2"):
        recompose(chance=1.5)([played([(1, 1)], step=2)])


def test_recompose_reads_a_channel_and_skips_unscored_rollouts():
    one = played([(0, 10), (0, 20), (float("nan"), 5), (0, 30)])
    scores = make_scores(one.scores.outcome, channels={"whole/correct": [1, 1, 1, 0]})
    select = recompose(channel="correct", capacity=4)
    (kept,) = select([one.with_group(one.group, scores)])
    assert kept.trained.tolist() == [True, False, False, True] and lengths(select.stored) == [20]
