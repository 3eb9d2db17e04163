import math

import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.papers.loop.log_clip import log_clip

# A, rho, loss, d loss / d log rho
EXAMPLES = [
    (0.75, 1.3, -0.825, 0.0),
    (-0.75, 0.5, 0.68182, 0.0),
    (-0.75, 1.3, 0.975, 0.975),
    (0.75, 0.5, -0.375, -0.375),
    (0.75, 1.05, -0.7875, -0.7875),
    (-0.75, 0.92, 0.69, 0.69),
    (0.0, 1.3, 0.0, 0.0),
]


@pytest.mark.parametrize(("adv", "rho", "loss", "gradient"), EXAMPLES)
def test_log_clip_equals_the_worked_examples(adv, rho, loss, gradient):
    log_ratio = torch.tensor([[math.log(rho)]], dtype=torch.float64, requires_grad=True)
    found = log_clip()(log_ratio, torch.tensor([[adv]], dtype=torch.float64), torch.full((1, 1), -1.0))
    found.sum().backward()
    assert found.item() == pytest.approx(loss, abs=1e-5)
    assert log_ratio.grad.item() == pytest.approx(gradient)


def test_bounds_are_symmetric_in_the_logarithm():
    """The gradient of a bad token ends at -log 1.1 as that of a good one does at log 1.1."""
    steps = torch.linspace(-0.3, 0.3, 601, dtype=torch.float64)
    for adv, pushed in ((1.0, steps <= math.log(1.1)), (-1.0, steps >= -math.log(1.1))):
        leaf = steps.clone().requires_grad_()
        log_clip(eps=0.1)(leaf, torch.full_like(steps, adv), leaf).sum().backward()
        assert ((leaf.grad != 0) == pushed).all()


def test_log_clip_refuses_a_negative_eps():
    with pytest.raises(InputError, match="eps"):
        log_clip(eps=-0.1)
