from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from handaxe.core.batch import PolicyOut
from handaxe.core.errors import InputError
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.papers.prs.refill_by_value import refill_by_value
from handaxe.selection.parts.dispositions import apply_selector, live
from handaxe.testing.make_records import make_group, make_rated, make_scores, make_task, make_trajectory
from handaxe.training.loop.batch import make_batch
from handaxe.training.loop.step_metrics import added_metrics
from handaxe.training.loop.step_record import step_record
from handaxe.training.record.groups import group_fate

CONTRACT = [{"best": 9.0}, {"best": 9.0, "damping": 1.0, "even": True}]
FILTERS = False
EXAMPLE = ([1, 1, 0, 0], [1, 1, 1, 0], [0.2, 0.2, 0.3, 0.1], [0, 0, 0, 0])


def played(name, outcome, *, step=0, advantage=None):
    siblings = [make_trajectory(layouts=["UUt pp tT p"], id=f"{name}/{i}", sample=i) for i in range(len(outcome))]
    group = make_group(trajectories=siblings, task=make_task(id=name), step=step)
    adv = np.array(outcome, float) - np.nanmean(outcome) if advantage is None else advantage
    return make_rated(group=group, scores=make_scores(outcome), advantage=np.nan_to_num(adv))


def batch(step=0, more=0):
    return [played(f"g{k}", outcome, step=step) for k, outcome in enumerate(EXAMPLE)] + [
        played(f"e{k}", [1, 1], step=step) for k in range(more)
    ]


def level(one, i=0):
    return float(one.advantages.tokens[i][0][one.group[i].sequences[0].mask][0])


def test_values_and_probabilities_equal_the_worked_example():
    out = refill_by_value()(batch())
    assert [one.group.task.id for one in out[:3]] == ["g0", "g1", "g2"] and len(out) == 4
    assert out[3].group.task.id in ("g0", "g1", "g2") and level(out[3], 3) == 0.5 * level(
        next(one for one in out if one.group is out[3].group), 3
    )


def test_repeated_copies_are_damped():
    one = played("a", [1, 0, 0, 0])
    out = refill_by_value()([one, played("b", [1, 1]), played("c", [0, 0])])
    assert [level(each) for each in out] == [0.75, 0.375, 0.1875]  # 1.75 A in all
    assert all(each.group is one.group for each in out)


@pytest.mark.slow
def test_copies_are_sampled_in_proportion_to_value():
    select, drawn = refill_by_value(), Counter()
    for step in range(100):
        drawn.update(one.group.task.id for one in select(batch(step, more=99))[3:])
    value = {f"g{k}": (1 - np.mean(own)) * np.std(own) for k, own in enumerate(EXAMPLE[:3])}
    assert [round(v / sum(value.values()), 3) for v in value.values()] == [0.603, 0.261, 0.136]
    assert sum(drawn.values()) == 10_000
    for name, v in value.items():
        share = v / sum(value.values())
        assert drawn[name] / 10_000 == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 10_000))
    even = Counter(one.group.task.id for one in refill_by_value(even=True)(batch(0, more=2999))[3:])
    assert all(count == pytest.approx(1000, abs=110) for count in even.values())


def test_copies_do_not_depend_on_the_order_of_groups():
    select = refill_by_value()
    there, back = select(batch(3, more=4)), select(batch(3, more=4)[::-1])
    assert sorted((o.group.task.id, level(o)) for o in there) == sorted((o.group.task.id, level(o)) for o in back)


def losses(rated):
    """Value and gradient of a clipped loss on a batch of groups of four; the siblings' ratios differ."""
    made = make_batch(rated, pad_id=0, dtype=torch.float64)
    siblings = torch.arange(len(made.ids_BT))[:, None] % 4
    logp_BT = (0.04 * siblings - 0.5).double().expand(made.ids_BT.shape).clone().requires_grad_()
    policy_out = PolicyOut(logp_BT, lambda: torch.zeros_like(logp_BT))
    out = policy(ratio=token(), surrogate=clip(), reduction=rollout_mean())(policy_out, made)
    out.value.backward()
    return float(out.value.detach()), logp_BT.grad, made


@pytest.mark.parametrize(("damping", "weight"), [(1.0, 2.0), (0.5, 1.5)])
def test_copies_count_in_denominators(damping, weight):
    one, flat = played("a", [1, 0, 0, 0]), played("b", [1, 1, 1, 1])
    out = refill_by_value(damping=damping)([one, flat])
    value, gradient, made = losses(out)
    alone, slope, single = losses([one])
    assert made.denominators.rollouts == 8 == 2 * single.denominators.rollouts
    assert made.denominators.tokens == 2 * single.denominators.tokens
    # twice as many rollouts share the mean: weight / 2 of what the group does alone
    assert value == pytest.approx(alone * weight / 2, abs=1e-6) and abs(value) > 1e-3
    together = gradient[:4] + gradient[4:]
    assert torch.allclose(together, slope * weight / 2, atol=1e-6)
    # A / (how often) would take it all back
    assert float(together.abs().sum()) != pytest.approx(float(slope.abs().sum()) / 2)


def test_the_record_sums_the_advantages_of_copies():
    one, flat = played("a", [1, 0, 0, 0]), played("b", [1, 1, 1, 1])
    found = apply_selector(refill_by_value(), [one, flat])
    records, out = step_record([one, flat], found), live(found)
    assert [group_fate(record) for record in records] == ["trained", "unselected"]
    mask = one.group[0].sequences[0].mask
    assert records[0].advantages.tokens[0][0][mask].tolist() == [1.5 * 0.75] * 3
    assert records[0].trained.all() and not records[1].trained.any()
    assert records[1].advantages.tokens[0][0].tolist() == flat.advantages.tokens[0][0].tolist()
    assert added_metrics(out, [one, flat]) == {"added": 4.0, "added/tokens": 12.0, "added/share": 0.5}


def test_no_copies_without_dropped_or_trainable_groups():
    select = refill_by_value()
    assert select([]) == [] and select([played("a", [1]), played("b", [0, 0])]) == []
    lively = played("a", [1, 0])
    assert select([lively]) == [lively]
    # rewards equal up to rounding are equal; who was not scored counts nowhere
    assert select([played("b", [0.3, 0.1 + 0.2])]) == []
    with_nan = played("c", [1, 0, np.nan])
    assert len(select([with_nan, played("d", [0, 0])])) == 2
    # nobody trains: it stays, and is no copy
    idle = replace(lively, trained=np.zeros(2, bool))
    assert select([idle, played("d", [0, 0])]) == [idle]


def test_refill_by_value_refuses_bad_damping_and_rewards_above_best():
    with pytest.raises(InputError, match="damping"):
        refill_by_value(damping=1.5)
    with pytest.raises(InputError, match="earned 2"):
        refill_by_value()([played("a", [2, 0])])
