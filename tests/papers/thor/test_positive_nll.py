import math

import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.papers.thor.positive_nll import positive_nll
from handaxe.testing.batches import random_batch, random_policy, small_batch, small_policy
from handaxe.testing.losses import differentiate


def test_positive_nll_equals_the_worked_example():
    batch = small_batch([[2.0, None, -1.0], [0.1], [0.0]])
    found = differentiate(positive_nll(), small_policy(batch, [[-0.2, None, -3.0], [-0.4], [-5.0]]), batch)
    assert found.value == pytest.approx(0.003) and found.metrics == pytest.approx({"positive_nll": 0.3})
    assert found.gradients["logp"][batch.mask_BT].tolist() == pytest.approx([-0.005, 0.0, -0.005, 0.0])


@pytest.mark.parametrize("seed", range(3))
def test_positive_nll_equals_a_slow_loop(seed):
    batch = random_batch(seed, under_mask=math.nan, left_out=0.3)
    out = random_policy(batch, seed, under_mask=math.nan)
    good = [(row, t) for row, t in batch.mask_BT.nonzero().tolist() if batch.adv_BT[row, t] > 0]
    found = differentiate(positive_nll(coefficient=0.5), out, batch)
    assert found.value == pytest.approx(-0.5 * sum(out.logp_BT[at].item() for at in good) / len(good))
    wanted_BT = torch.zeros_like(out.logp_BT)
    for at in good:
        wanted_BT[at] = -0.5 / len(good)
    torch.testing.assert_close(found.gradients["logp"], wanted_BT, atol=1e-12, rtol=0)


def test_no_positive_advantage_gives_zero():
    batch = small_batch([[-1.0, 0.0]])
    found = differentiate(positive_nll(), small_policy(batch, -1.0), batch)
    assert found.value == 0 and not found.gradients["logp"].any()


def test_positive_nll_refuses_a_negative_coefficient():
    with pytest.raises(InputError, match="coefficient"):
        positive_nll(coefficient=-0.1)
