import pytest
import torch

from handaxe.losses.surrogates.reinforce import reinforce


def test_reinforce_matches_the_docstring_example():
    logp = torch.tensor([[-0.5, -2.0]], requires_grad=True)
    loss = reinforce()(torch.full((1, 2), 9.0), torch.tensor([[1.0 - 0.25, 0.0]]), logp)
    loss.sum().backward()
    assert loss.tolist() == [[pytest.approx(0.375), 0.0]]
    assert logp.grad.tolist() == [[-0.75, 0.0]]
