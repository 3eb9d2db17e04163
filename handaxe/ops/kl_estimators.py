"""Estimators of KL(p || q) from single tokens drawn from p, as functions of d = log p(token) - log q(token).

    estimator             value of one token        expectation of the value    gradient of the value, as a loss
    k1                    d                         KL, exactly                 expectation 0: useless
    k2                    d^2 / 2                   biased                      the gradient of KL, exactly
    k3                    exp(-d) - 1 + d           KL, exactly; never < 0      biased
    k3_straight_through   equal to k3               equal to k3                 equal to k2

Use k1 in a reward (without gradient), k2 or the straight-through form in a loss, and k3 for a curve.

Paper: arXiv:2510.01555 (values against gradients); the estimators are from J. Schulman, "Approximating KL divergence".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from handaxe.core.deferred import torch

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["k1", "k2", "k3", "k3_straight_through"]


def k1(d: Tensor) -> Tensor:
    """Return the log-ratio d: unbiased, may be negative. d = 0.5 -> 0.5; d = -1 -> -1."""
    return d


def k2(d: Tensor) -> Tensor:
    """Return half the square of d. d = 0.5 -> 0.125; d = -1 -> 0.5."""
    return 0.5 * d * d


def k3(d: Tensor) -> Tensor:
    """Return exp(-d) - 1 + d: unbiased and never negative. d = 0.5 -> 0.10653; d = -1 -> 0.71828.

    Computed by expm1, which keeps the digits that exp(-d) - 1 loses near 0.
    """
    return torch.expm1(-d) + d


def k3_straight_through(d: Tensor) -> Tensor:
    """Return the value of k3 with the gradient of k2. d = 0.5 -> 0.10653, gradient 0.5; d = -1 -> 0.71828, gradient
    -1."""
    gradient = k2(d)
    return k3(d).detach() + gradient - gradient.detach()
