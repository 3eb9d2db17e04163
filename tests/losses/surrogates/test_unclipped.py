import math

import pytest
import torch

from handaxe.losses.surrogates.unclipped import unclipped


def test_unclipped_matches_the_docstring_example():
    log_ratio = torch.tensor([[math.log(1.5), math.log(4.0)]], dtype=torch.float64, requires_grad=True)
    loss = unclipped()(log_ratio, torch.tensor([[1.0, -1.0]]), torch.zeros(1, 2))
    loss.sum().backward()
    assert loss[0].tolist() == pytest.approx([-1.5, 4.0])
    assert log_ratio.grad[0].tolist() == pytest.approx([-1.5, 4.0])
