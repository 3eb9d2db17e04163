import math

import pytest

from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.ratios.turn import turn
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.testing.batches import random_batch, random_policy, small_batch, small_policy
from handaxe.testing.losses import differentiate

LOG_RATIOS = [[0.2, 0.4, None, -0.1, 0.3]]


def example(rows=LOG_RATIOS, turns=((0, 0, None, 1, 1),), rollout=None):
    batch = small_batch([[None if x is None else 1.0 for x in row] for row in rows], turn=turns, rollout=rollout)
    return small_policy(batch, [[None if x is None else x - 1.0 for x in row] for row in rows]), batch


def test_turn_matches_the_docstring_example():
    out, batch = example()
    ratio_BT = turn()(out, batch)
    assert ratio_BT.exp()[batch.mask_BT].tolist() == pytest.approx([1.3498588] * 2 + [1.1051709] * 2)
    assert ratio_BT[~batch.mask_BT].tolist() == [0.0, 0.0]
    ratio_BT[0, 1].backward()
    assert out.logp_BT.grad[batch.mask_BT].tolist() == pytest.approx([0.5, 0.5, 0.0, 0.0])
    found = turn(mean=False)(*example())
    assert found.exp()[batch.mask_BT].tolist() == pytest.approx([1.8221188] * 2 + [1.2214028] * 2)


def test_turns_of_different_rows_are_separate():
    out, batch = example([[0.2], [0.4], [0.6]], [[0], [0], [0]])
    assert turn()(out, batch)[batch.mask_BT].tolist() == pytest.approx([0.2, 0.4, 0.6])


def test_single_token_turns_have_token_ratios():
    out, batch = example(turns=((0, 1, None, 2, 3),))
    assert turn()(out, batch).tolist() == token()(out, batch).tolist()


@pytest.mark.parametrize("mean", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_turn_equals_a_slow_loop(seed, mean):
    batch = random_batch(seed, under_mask=math.nan, left_out=0.2)
    out = random_policy(batch, seed, under_mask=math.nan)
    turns: dict[tuple[int, int], list[int]] = {}
    for row, t in batch.mask_BT.nonzero().tolist():
        turns.setdefault((row, int(batch.turn_BT[row, t])), []).append(t)
    assert max(map(len, turns.values())) > 1
    loss = policy(ratio=turn(mean=mean), surrogate=clip(), reduction=token_mean())
    found, total = differentiate(loss, out, batch), 0.0
    for (row, _), places in turns.items():
        apart = sum((out.logp_BT[row, t] - batch.old_logp_BT[row, t]).item() for t in places)
        rho, slope = math.exp(apart / len(places) if mean else apart), 0.0
        for t in places:
            adv, bounded = float(batch.adv_BT[row, t]), min(max(rho, 0.8), 1.2)
            total += max(-adv * rho, -adv * bounded) / batch.denominators.tokens
            slope += -adv * rho if -adv * rho >= -adv * bounded else 0.0
        for t in places:
            wanted = slope / (len(places) if mean else 1) / batch.denominators.tokens
            assert found.gradients["logp"][row, t].item() == pytest.approx(wanted, abs=1e-12)
    assert found.value == pytest.approx(total)


def test_clamp_bounds_the_log_ratio():
    batch = small_batch([[1.0]], old=[[-900.0]])
    assert turn()(small_policy(batch, -1.0), batch)[0, 1].item() == 20.0
