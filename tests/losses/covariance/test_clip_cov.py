import math
from dataclasses import replace

import pytest
import torch

from handaxe.losses.covariance.clip_cov import clip_cov
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.testing.batches import random_batch, random_policy, small_batch, small_policy
from handaxe.testing.losses import differentiate

TOGETHER = "everything"


def loss(**arguments):
    adjust = [clip_cov(**arguments)]
    return policy(ratio=token(), surrogate=clip(), reduction=token_mean(), adjustments=adjust)


def example():
    """cov 1.0667, 0.4, -0.8667; a tool token stands between."""
    rows = [[-0.1, -2.0, None, -3.0]]
    batch = small_batch([[1.0, -1.0, None, 1.0]], old=rows)
    return small_policy(batch, rows), batch


def test_clip_cov_matches_the_docstring_example():
    out, batch = example()
    found = differentiate(loss(), out, batch)
    assert found.value == pytest.approx((0 + 1 - 1) / 3)
    assert found.gradients["logp"][batch.mask_BT].tolist() == pytest.approx([0.0, 1 / 3, -1 / 3])
    assert found.metrics["adjusted_fraction"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("bounds", "silent"), [((1.07, 5.0), []), ((1.0, 1.06), []), ((0.1, 1.06), [1]), ((-1.0, 0.0), [2])]
)
def test_bounds_select_eligible_tokens(bounds, silent):
    out, batch = example()
    gradient = differentiate(loss(low=bounds[0], high=bounds[1]), out, batch).gradients["logp"][batch.mask_BT]
    assert (gradient == 0).nonzero()[:, 0].tolist() == silent


def big():
    batch = random_batch(0, groups=20)
    return random_policy(batch, 0), batch


def test_a_fraction_of_the_eligible_is_drawn():
    out, batch = big()
    tokens, low = int(batch.mask_BT.sum()), 0.05
    adv, logp = batch.adv_BT[batch.mask_BT], out.logp_BT.detach()[batch.mask_BT]
    eligible = (adv - adv.mean()) * (logp - logp.mean()) > low
    chosen = {}
    for seed in (0, 1, 2):
        result = differentiate(loss(low=low, high=math.inf, fraction=0.05, seed=seed), out, batch)
        plain = differentiate(policy(ratio=token(), surrogate=clip(), reduction=token_mean()), out, batch)
        before, after = plain.gradients["logp"][batch.mask_BT], result.gradients["logp"][batch.mask_BT]
        silent = (before != after).nonzero()[:, 0]
        assert eligible[silent].all()
        assert round(result.metrics["adjusted_fraction"] * tokens) == int(0.05 * tokens)
        chosen[seed] = set(silent.tolist())
    assert len({frozenset(one) for one in chosen.values()}) == 3, "another seed draws others"


def test_every_eligible_token_is_equally_likely():
    out, batch = example()
    both, count = [0, 0], 400
    for seed in range(count):
        gradient = differentiate(loss(low=0.1, seed=seed), out, batch).gradients["logp"][batch.mask_BT]
        assert (gradient == 0).sum() == 1
        both[int((gradient == 0).nonzero()[0, 0])] += 1
    assert abs(both[0] - count / 2) < 4 * math.sqrt(count / 4)


def test_clip_range_leaves_out_clipped_tokens():
    """Token 0 has A > 0 and has grown beyond 1.2; the released form does not spend its draw on it."""
    batch = small_batch([[1.0, -1.0, 1.0]], old=[[-0.4, -2.0, -3.0]])
    out = small_policy(batch, [[-0.1, -2.0, -3.0]])
    drawn = {True: set(), False: set()}
    for seed in range(20):
        for released in drawn:
            made = loss(low=0.1, seed=seed, clip_range=(0.2, 0.2) if released else None)
            found = differentiate(made, out, batch)
            assert found.metrics["adjusted_fraction"] == pytest.approx(1 / 3)
            drawn[released].add(found.gradients["logp"][0, 2].item() == 0)
    assert drawn == {True: {True}, False: {True, False}}


def test_a_token_below_the_lower_bound_is_left_out():
    """cov 2.18, 0.78, 0.31: tokens 1 and 2 are eligible, but token 1 has A < 0 and a ratio of 0.41."""
    batch = small_batch([[1.0, -1.0, -1.0]], old=[[-0.1, -2.0, -2.0]])
    out = small_policy(batch, [[-0.1, -2.9, -2.2]])
    for seed in range(20):
        found = differentiate(loss(low=0.1, high=0.95, seed=seed), out, batch)
        assert found.metrics["adjusted_fraction"] == pytest.approx(1 / 3)
        released = differentiate(loss(low=0.1, high=0.95, seed=seed, clip_range=(0.2, 0.2)), out, batch)
        assert released.gradients["logp"][0, 3].item() == 0


def test_equal_rows_of_two_rollouts_draw_separately():
    batch = small_batch([[1.0, -1.0], [1.0, -1.0]], old=[[-0.1, -2.0], [-0.1, -2.0]])
    batch.ids_BT[1] = batch.ids_BT[0]
    out, kinds = small_policy(batch, [[-0.1, -2.0], [-0.1, -2.0]]), set()
    for seed in range(20):
        gradient = differentiate(loss(low=0.1, fraction=0.5, seed=seed), out, batch).gradients["logp"]
        silent = ((gradient == 0) & batch.mask_BT).tolist()
        assert sum(map(sum, silent)) == 2
        kinds.add(silent[0] == silent[1])
    assert False in kinds, "two rollouts with the same ids must not always lose the same token"


def test_equal_advantages_change_nothing():
    batch = small_batch([[1.0, 1.0]])
    found = differentiate(loss(), small_policy(batch, [[-0.1, -3.0]]), batch)
    assert found.metrics["adjusted_fraction"] == 0.0


def test_global_generators_are_unchanged():
    out, batch = big()
    torch.manual_seed(3)
    before = torch.get_rng_state()
    differentiate(loss(low=0.05), out, batch)
    assert torch.equal(before, torch.get_rng_state())


def test_only_restricts_to_tokens_of_a_feature():
    """Covariances 1.0667, 0.4, -0.8667 as in the example, of which the first two are eligible and the second marked."""
    out, batch = example()
    adjust = clip_cov(low=0.1, high=5.0, fraction=1.0, only="replayed")
    flat = torch.ones_like(batch.adv_BT)
    assert torch.equal(adjust(flat, flat, out, batch), flat)  # nothing is marked
    mark = torch.full_like(flat, math.nan)
    mark[batch.mask_BT] = torch.tensor([0.0, 1.0, 1.0], dtype=flat.dtype)
    marked = replace(batch, extras={"replayed": mark})
    assert adjust(flat, flat, out, marked)[batch.mask_BT].tolist() == [1.0, 0.0, 1.0]
    everywhere = clip_cov(low=0.1, high=5.0, fraction=1.0)
    assert everywhere(flat, flat, out, marked)[batch.mask_BT].tolist() == [0.0, 0.0, 1.0]
