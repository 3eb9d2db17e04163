import math

import pytest
import torch

from handaxe.losses.surrogates.clip import clip

# A, rho, eps_high, loss, d loss / d log_ratio
EXAMPLES = [
    (1.0, 1.5, 0.2, -1.2, 0.0),
    (1.0, 1.5, 0.28, -1.28, 0.0),
    (-1.0, 1.5, 0.2, 1.5, 1.5),
    (1.0, 0.5, 0.2, -0.5, -0.5),
    (-1.0, 0.5, 0.2, 0.8, 0.0),
    (-1.0, 4.0, 0.2, 4.0, 4.0),
    (1.0, 1.1, 0.2, -1.1, -1.1),
    (-2.0, 0.9, 0.2, 1.8, 1.8),
    (1.0, 1.25, 0.28, -1.25, -1.25),
    (0.0, 3.0, 0.2, 0.0, 0.0),
]


@pytest.mark.parametrize(("adv", "rho", "eps_high", "loss", "gradient"), EXAMPLES)
def test_clip_matches_the_docstring_example(adv, rho, eps_high, loss, gradient):
    log_ratio = torch.tensor([[math.log(rho)]], dtype=torch.float64, requires_grad=True)
    found = clip(eps_high=eps_high)(log_ratio, torch.tensor([[adv]]), torch.tensor([[-1.0]]))
    found.sum().backward()
    assert found.item() == pytest.approx(loss)
    assert log_ratio.grad.item() == pytest.approx(gradient)


def test_on_policy_the_gradient_is_the_policy_gradient():
    log_ratio = torch.zeros(1, 3, requires_grad=True)
    clip()(log_ratio, torch.tensor([[1.0, -2.0, 0.5]]), torch.zeros(1, 3)).sum().backward()
    assert log_ratio.grad.tolist() == [[-1.0, 2.0, -0.5]]


def test_the_lower_bound_is_separate():
    log_ratio = torch.tensor([[math.log(0.5)]], dtype=torch.float64)
    adv = torch.tensor([[-1.0]])
    assert clip(eps_low=0.4)(log_ratio, adv, adv).item() == pytest.approx(0.6)
    assert clip(eps_low=0.6)(log_ratio, adv, adv).item() == pytest.approx(0.5)
