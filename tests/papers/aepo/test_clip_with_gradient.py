import math

import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.losses.surrogates.clip import clip
from handaxe.losses.surrogates.dual_clip import dual_clip
from handaxe.papers.aepo.clip_with_gradient import clip_with_gradient

# A, rho, cap, loss, d loss / d log_ratio
EXAMPLES = [
    (1.0, 1.5, None, -1.2, -1.2),
    (1.0, 9.0, None, -1.2, -1.2),
    (1.0, 1.1, None, -1.1, -1.1),
    (1.0, 0.5, None, -0.5, -0.5),
    (-1.0, 1.5, None, 1.5, 1.5),
    (-1.0, 0.5, None, 0.8, 0.0),
    (-1.0, 4.0, None, 4.0, 4.0),
    (-1.0, 4.0, 3.0, 3.0, 0.0),
    (-1.0, 1.5, 3.0, 1.5, 1.5),
    (1.0, 4.0, 3.0, -1.2, -1.2),
    (0.0, 4.0, 3.0, 0.0, 0.0),
]


@pytest.mark.parametrize(("adv", "rho", "cap", "loss", "gradient"), EXAMPLES)
def test_clip_with_gradient_matches_its_examples(adv, rho, cap, loss, gradient):
    log_ratio = torch.tensor([[math.log(rho)]], dtype=torch.float64, requires_grad=True)
    found = clip_with_gradient(cap=cap)(log_ratio, torch.tensor([[adv]]), torch.tensor([[-1.0]]))
    found.sum().backward()
    assert found.item() == pytest.approx(loss)
    assert log_ratio.grad.item() == pytest.approx(gradient)


@pytest.mark.parametrize("cap", [None, 2.0])
def test_values_equal_clip_and_gradients_differ_above_the_upper_bound_alone(cap):
    log_ratio = torch.linspace(-2, 2, 401, dtype=torch.float64).repeat(3, 1)
    adv = torch.tensor([[1.5], [-0.7], [0.0]], dtype=torch.float64).expand(3, 401)
    plain = clip(eps_high=0.28) if cap is None else dual_clip(eps_high=0.28, cap=cap)
    values, gradients = [], []
    for surrogate in (clip_with_gradient(eps_high=0.28, cap=cap), plain):
        leaf = log_ratio.clone().requires_grad_()
        loss = surrogate(leaf, adv, adv)
        loss.sum().backward()
        values.append(loss.detach())
        gradients.append(leaf.grad)
    torch.testing.assert_close(*values)
    above = (log_ratio.exp() > 1.28) & (adv > 0)
    torch.testing.assert_close(gradients[0][~above], gradients[1][~above])
    torch.testing.assert_close(gradients[0][above], torch.full_like(gradients[0][above], -1.5 * 1.28))
    assert not gradients[1][above].any() and above.any()


def test_a_cap_of_at_most_one_is_rejected():
    with pytest.raises(InputError, match="cap"):
        clip_with_gradient(cap=1.0)
