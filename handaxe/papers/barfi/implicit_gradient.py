"""Gradient of an outer objective through the fixed point of an inner update."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["implicit_gradient"]


def implicit_gradient(
    outer: Callable[[Tensor], Tensor],
    update: Callable[[Tensor, Sequence[Tensor]], Tensor],
    theta: Tensor,
    phi: Sequence[Tensor],
    *,
    terms: int = 5,
    rate: float = 1.0,
) -> list[Tensor]:
    """Differentiate outer(theta*(phi)), where update(theta*, phi) = 0, by a truncated Neumann series.

        dJ/dphi  = -(dJ/dtheta) H^-1 A         H = d update / d theta,  A = d update / d phi,  both at theta
        -H^-1    ~ rate sum_{k=0}^{terms} (I + rate H)^k

    The series converges to -H^-1 if all eigenvalues of I + rate H are in (-1, 1), such as at a strict maximum of an
    inner objective with gradient `update` and small `rate`. No matrix is built: a term is one vector-Jacobian product.

    Args:
        outer: theta -> number, J.
        update: (theta, phi) -> inner update, of theta's shape and differentiable.
        theta: result of the inner problem; not changed.
        phi: parameters of the inner problem; not changed.
        terms: powers of I + rate H beyond the first, >= 0; 0 replaces -H^-1 by the rate.
        rate: step size of the series, > 0.

    Returns:
        Gradients of J, of phi's shapes.

    Raises:
        InputError: negative terms, a rate that is not above 0, or an update of another shape than theta.

    Example:
        outer -(theta - 3)^2, update phi - theta, theta = phi = 1: J' = 4, H = -1, A = 1  ->  4 for every rate of 1
        the same with rate 0.5: terms 0 -> 2, terms 1 -> 3, terms 2 -> 3.5

    Paper: arXiv:2310.19007 (BARFI), implicit bi-level gradient and its Neumann approximation.
    Unconfirmed: number of terms and step size of the series; the formula is from memory.
    Differs: nothing.
    """
    if terms < 0 or not rate > 0:
        raise InputError(f"terms is {terms} and rate {rate}; give 0 or more, and above 0")
    point = theta.detach().requires_grad_()
    parameters = [one.detach().requires_grad_() for one in phi]
    (slope,) = torch.autograd.grad(outer(point), point)
    inner = update(point, parameters)
    if inner.shape != theta.shape:
        raise InputError(f"the update has shape {tuple(inner.shape)}; give theta's shape, {tuple(theta.shape)}")
    total = slope
    for _ in range(terms):
        (product,) = torch.autograd.grad(inner, point, slope, retain_graph=True, materialize_grads=True)
        slope = slope + rate * product
        total = total + slope
    return list(torch.autograd.grad(inner, parameters, rate * total, materialize_grads=True))
