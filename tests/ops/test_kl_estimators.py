"""Worked examples of the estimators, and exact expectations over a small vocabulary."""

import pytest
import torch

from handaxe.ops.kl_estimators import k1, k2, k3, k3_straight_through

EXAMPLES = [
    (k1, 0.5, 0.5, 1.0),
    (k1, -1.0, -1.0, 1.0),
    (k2, 0.5, 0.125, 0.5),
    (k2, -1.0, 0.5, -1.0),
    (k3, 0.5, 0.1065307, 0.3934693),
    (k3, -1.0, 0.7182818, -1.7182818),
    (k3_straight_through, 0.5, 0.1065307, 0.5),
    (k3_straight_through, -1.0, 0.7182818, -1.0),
]


@pytest.mark.parametrize(("estimator", "d", "value", "gradient"), EXAMPLES)
def test_values_and_gradients_equal_the_examples(estimator, d, value, gradient):
    x = torch.tensor(d, dtype=torch.float64, requires_grad=True)
    found = estimator(x)
    found.backward()
    assert found.item() == pytest.approx(value, abs=1e-7)
    assert x.grad.item() == pytest.approx(gradient, abs=1e-7)


def policies():
    logits = torch.tensor([0.3, -1.2, 0.8, 0.0], dtype=torch.float64, requires_grad=True)
    reference = torch.tensor([0.1, 0.4, -0.5, 0.2], dtype=torch.float64).log_softmax(0)
    return logits, logits.log_softmax(0), reference


def test_k1_and_k3_are_unbiased_and_k2_is_not():
    _, logp, reference = policies()
    p, exact = logp.exp(), (logp.exp() * (logp - reference)).sum().item()
    for estimator, unbiased in [(k1, True), (k2, False), (k3, True), (k3_straight_through, True)]:
        mean = (p * estimator(logp - reference)).sum().item()
        assert (abs(mean - exact) < 1e-12) == unbiased, estimator.__name__


def test_only_k2_and_straight_through_have_the_gradient_of_the_kl():
    """A loss sees samples without their probabilities, so p is constant: only k2 has the gradient of the KL."""
    logits, logp, reference = policies()
    exact = torch.autograd.grad((logp.exp() * (logp - reference)).sum(), logits, retain_graph=True)[0]
    for estimator, right in [(k1, False), (k2, True), (k3, False), (k3_straight_through, True)]:
        mean = (logp.detach().exp() * estimator(logp - reference)).sum()
        found = torch.autograd.grad(mean, logits, retain_graph=True)[0]
        assert torch.allclose(found, exact, atol=1e-12) == right, estimator.__name__


def test_k3_is_accurate_near_zero():
    for d in (1e-4, 1e-6, -1e-6):
        assert k3(torch.tensor(d, dtype=torch.float64)).item() == pytest.approx(0.5 * d * d, rel=1e-3)
