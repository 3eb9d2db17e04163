from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Scores
from handaxe.papers.otc.fewer_calls import fewer_calls
from handaxe.papers.rex_rag.dedup_resampled import dedup_resampled
from handaxe.rewards.exact_match import exact_match
from handaxe.testing.make_records import make_group, make_task, make_trajectory

CONTRACT = [{"base": exact_match()}]
LAB = "passes the base reward on, and marks eligible siblings"
TASK = make_task(answer="4")


def group_of(others, clones, *, name="t"):
    """Attempts of which every other one is right, and clones of the first."""
    first = [make_trajectory(texts=["45"[i % 2]], task=TASK, id=f"{name}/{i}") for i in range(others)]
    more = [make_trajectory(texts=["4"], task=TASK, id=f"{name}/{i}/probed") for i in range(clones)]
    more = [replace(one, branch_of=Branch(f"{name}/0", 0, 1)) for one in more]
    return make_group(trajectories=[*first, *more], task=TASK)


def kept(scores, clones):
    return int(scores.eligible[len(scores.eligible) - clones :].sum()) if clones else 0


def test_kept_clones_equal_the_worked_example():
    reward, group = dedup_resampled(base=exact_match()), group_of(8, 4)
    seen = []
    for _ in range(3):
        scores = reward(group)
        seen.append((round(reward.share, 4), kept(scores, 4)))
    assert seen == [(0.05, 1), (0.095, 1), (0.1355, 2)]
    assert scores.eligible[:8].all() and scores.channels["clones"].tolist() == [0.0] * 8 + [1.0] * 4
    np.testing.assert_array_equal(scores.outcome, exact_match()(group).outcome)


def test_the_kept_share_converges_to_the_mean():
    reward, rng, counts = dedup_resampled(base=exact_match(), rate=0.1), np.random.default_rng(0), []
    for n in range(150):
        clones = int(rng.binomial(8, 0.25))
        counts.append((clones, kept(reward(group_of(8, clones, name=f"{n}")), clones)))
    late = counts[50:]
    assert max(k for _, k in late) <= 4 < max(c for c, _ in late)
    assert all(k <= c and (k > 0) == (c > 0) for c, k in counts)


def test_kept_clones_depend_on_the_seed_and_not_on_order():
    group = group_of(8, 6)
    turned = replace(group, trajectories=group.trajectories[::-1])

    def names(group, **more):
        scores = dedup_resampled(base=exact_match(), share=0.2, **more)(group)
        return {one.id for one, good in zip(group, scores.eligible, strict=True) if good}

    assert names(group) == names(turned)
    assert len({frozenset(names(group, seed=seed)) for seed in range(8)}) > 1


def test_groups_without_clones_and_groups_of_clones_are_handled():
    reward = dedup_resampled(base=exact_match(), share=0.5)
    assert reward(group_of(4, 0)).eligible.all() and reward.share == pytest.approx(0.45)
    assert reward(group_of(0, 3)).eligible.all() and reward.share == pytest.approx(0.45)


def test_eligibility_of_the_base_is_kept():
    def base(group):
        return Scores(np.zeros(len(group)), eligible=np.arange(len(group)) > 0)

    assert dedup_resampled(base=base)(group_of(3, 1)).eligible.tolist() == [False, True, True, True]


def test_dedup_resampled_restores_the_state_of_its_base():
    reward = dedup_resampled(base=fewer_calls(base=exact_match(), smooth=4))
    reward(group_of(8, 4))
    again = dedup_resampled(base=fewer_calls(base=exact_match(), smooth=4))
    again.load_state_dict(reward.state_dict())
    assert again.state_dict() == reward.state_dict() == {"share": 0.05, "base": {"least": {"task-0": 0}}}


@pytest.mark.parametrize("knobs", [{"rate": 0.0}, {"rate": 1.1}, {"share": -0.1}, {"share": float("nan")}])
def test_dedup_resampled_refuses_numbers_out_of_range(knobs):
    with pytest.raises(InputError, match="dedup_resampled has"):
        dedup_resampled(base=exact_match(), **knobs)
