import math

import pytest
import torch

from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.reinforce import reinforce
from handaxe.papers.ipa.tapered import tapered
from handaxe.testing.batches import random_batch, random_policy
from handaxe.testing.losses import differentiate

# A, rho, logp, loss, d loss / d logp
EXAMPLES = [
    (2.0, 0.1, -3.0, 6.0, -2.0),
    (2.0, 9.0, -3.0, 6.0, -2.0),
    (-1.0, 0.5, -2.0, -1.0, 0.5),
    (-1.0, 4.0, -2.0, -2.0, 1.0),
    (0.0, 4.0, -2.0, 0.0, 0.0),
]


@pytest.mark.parametrize(("adv", "rho", "at", "loss", "gradient"), EXAMPLES)
def test_tapered_equals_the_worked_examples(adv, rho, at, loss, gradient):
    logp = torch.tensor([[at]], dtype=torch.float64, requires_grad=True)
    found = tapered()(logp - at + math.log(rho), torch.tensor([[adv]], dtype=torch.float64), logp)
    found.sum().backward()
    assert found.item() == pytest.approx(loss)
    assert logp.grad.item() == pytest.approx(gradient), "the weight must not be differentiated"


@pytest.mark.parametrize("seed", range(3))
def test_tapered_equals_a_slow_loop(seed):
    batch = random_batch(seed, under_mask=math.nan)
    out = random_policy(batch, seed, drift=0.8, under_mask=math.nan)
    found = differentiate(policy(ratio=token(), surrogate=tapered(), reduction=token_mean()), out, batch)
    total, sides = 0.0, set()
    for row, t in batch.mask_BT.nonzero().tolist():
        adv, logp, old = (x[row, t].item() for x in (batch.adv_BT, out.logp_BT, batch.old_logp_BT))
        weight = min(math.exp(logp - old), 1.0) if adv < 0 else 1.0
        total -= weight * adv * logp / batch.denominators.tokens
        wanted = -weight * adv / batch.denominators.tokens
        assert found.gradients["logp"][row, t].item() == pytest.approx(wanted, abs=1e-12)
        sides.add((adv < 0, logp > old))
    assert found.value == pytest.approx(total) and len(sides) == 4


def test_tapered_equals_reinforce_on_policy_and_stays_finite_off_policy():
    logp, adv = torch.tensor([-0.5, -1.5]), torch.tensor([1.0, -1.0])
    assert torch.equal(tapered()(torch.zeros(2), adv, logp), reinforce()(torch.zeros(2), adv, logp))
    assert tapered()(torch.tensor([500.0, 500.0]), adv, logp).isfinite().all()
