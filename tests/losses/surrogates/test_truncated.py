import math

import pytest
import torch

from handaxe.losses.surrogates.truncated import truncated

# A, rho, eps_low, loss, d loss / d logp        at logp -1
EXAMPLES = [
    (1.0, 1.5, None, 1.2, -1.2),
    (1.0, 0.5, None, 0.5, -0.5),
    (1.0, 0.5, 0.2, 0.8, -0.8),
    (-1.0, 4.0, None, -1.2, 1.2),
    (-2.0, 1.1, None, -2.2, 2.2),
    (-1.0, 0.01, None, -0.01, 0.01),
]


@pytest.mark.parametrize(("adv", "rho", "eps_low", "loss", "gradient"), EXAMPLES)
def test_truncated_matches_the_docstring_example(adv, rho, eps_low, loss, gradient):
    logp = torch.tensor([[-1.0]], dtype=torch.float64, requires_grad=True)
    log_ratio = logp + 1.0 + math.log(rho)
    found = truncated(eps_low=eps_low)(log_ratio, torch.tensor([[adv]]), logp)
    found.sum().backward()
    assert found.item() == pytest.approx(loss)
    assert logp.grad.item() == pytest.approx(gradient), "the weight must not be differentiated"
