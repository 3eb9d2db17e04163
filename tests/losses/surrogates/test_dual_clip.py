import math

import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.losses.surrogates.dual_clip import dual_clip

# A, rho, loss, d loss / d log_ratio
EXAMPLES = [
    (-1.0, 4.0, 3.0, 0.0),
    (-1.0, 1.5, 1.5, 1.5),
    (-2.0, 2.9, 5.8, 5.8),
    (1.0, 1.5, -1.2, 0.0),
    (1.0, 4.0, -1.2, 0.0),
    (-1.0, 0.5, 0.8, 0.0),
    (1.0, 0.5, -0.5, -0.5),
]


@pytest.mark.parametrize(("adv", "rho", "loss", "gradient"), EXAMPLES)
def test_dual_clip_matches_the_docstring_example(adv, rho, loss, gradient):
    log_ratio = torch.tensor([[math.log(rho)]], dtype=torch.float64, requires_grad=True)
    found = dual_clip()(log_ratio, torch.tensor([[adv]]), torch.tensor([[-1.0]]))
    found.sum().backward()
    assert found.item() == pytest.approx(loss)
    assert log_ratio.grad.item() == pytest.approx(gradient)


def test_a_higher_cap_allows_a_larger_loss():
    log_ratio, adv = torch.tensor([[math.log(4.0)]]), torch.tensor([[-1.0]])
    assert dual_clip(cap=10.0)(log_ratio, adv, adv).item() == pytest.approx(4.0)


def test_a_cap_below_one_is_an_error():
    with pytest.raises(InputError, match="cap"):
        dual_clip(cap=1.0)
