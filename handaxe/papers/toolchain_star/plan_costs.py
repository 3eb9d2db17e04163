"""Costs of a step in A* search over plans: cumulative and future cost, each from a memory and from the policy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from handaxe.core.errors import InputError
from handaxe.papers.toolchain_star.plan_steps import Plan

__all__ = ["PlanCosts", "lcs_length", "memory_match", "plan_costs", "relative_position"]


def lcs_length(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence.

    Example:
        a b c and a c d  ->  2
    """
    row = [0] * (len(other) + 1)
    for left in one:
        before = 0
        for j, right in enumerate(other, 1):
            above = row[j]
            row[j] = before + 1 if left == right else max(above, row[j - 1])
            before = above
    return row[-1]


def memory_match(plan: Plan, memory: Sequence[Plan]) -> float:
    """g1, the similarity of a partial plan with the most similar plan of the memory.

        g1 = max over m in memory of LCS(plan, m) / min(|plan|, |m|)        0 for an empty memory

    Example:
        a b c against a c d  ->  2 / 3
    """
    return max((lcs_length(plan, one) / min(len(plan), len(one)) for one in memory), default=0.0)


def relative_position(step: str, memory: Sequence[Plan]) -> float:
    """h1, the mean position of a step in the plans of the memory, as a share of the length of a plan.

        h1 = mean over m with the step of (mean position of the step in m, from 1) / |m|        0 without such m

    Example:
        b in a b and in b c d e  ->  (2/2 + 1/4) / 2 = 0.625
    """
    shares = [_mean_place(step, one) / len(one) for one in memory if step in one]
    return sum(shares) / len(shares) if shares else 0.0


def _mean_place(step: str, plan: Plan) -> float:
    places = [place for place, own in enumerate(plan, 1) if own == step]
    return sum(places) / len(places)


class PlanCosts:
    """Costs of steps; see `plan_costs`. Attributes: memory, alpha, beta."""

    def __init__(self, memory: Sequence[Plan], alpha: float, beta: float):
        self.memory = tuple(memory)
        self.alpha, self.beta = alpha, beta
        known = tuple(dict.fromkeys(self.memory))
        self._match = lru_cache(maxsize=65_536)(lambda plan: memory_match(plan, known))
        self._position = lru_cache(maxsize=65_536)(lambda step: relative_position(step, self.memory))

    def step_cost(self, plan: Plan, share: float) -> float:
        """Cost of the last step of a partial plan, with the step's share of the samples: a term of g."""
        return _mixed(self._match(plan), share, self.alpha)

    def future_cost(self, plan: Plan, imagined: Plan) -> float:
        """h after a partial plan; `imagined` is the whole plan that the policy imagines from there."""
        done = lcs_length(plan, imagined) / len(imagined) if imagined else 0.0
        return _mixed(self._position(plan[-1]), done, self.beta)


def plan_costs(memory: Sequence[Plan], *, alpha: float = 0.5, beta: float = 0.5) -> PlanCosts:
    """Make the costs of ToolChain*.

        f(n)  = g(n) + h(n)
        g(n)  = sum over i on the path to n of (1 - g1(i))^alpha (1 - g2(i))^(1 - alpha)
        h(n)  = (1 - h1(n))^beta (1 - h2(n))^(1 - beta)

        g1(i) = similarity of the partial plan up to i with the memory, see `memory_match`
        g2(i) = share of the samples after i's parent that are equal to i
        h1(n) = relative position of n's step in the plans of the memory, see `relative_position`
        h2(n) = LCS(plan up to n, imagined plan) / |imagined plan|

    Args:
        memory: complete plans, none empty.
        alpha: weight of the memory in g, 0 to 1.
        beta: weight of the memory in h, 0 to 1.

    Returns:
        The costs. 0^0 is 1: a weight of 0 takes its factor out. A factor of 0 makes the product 0.

    Raises:
        InputError: a weight out of range, or an empty plan.

    Example:
        g1 0.64, g2 0.75 -> sqrt(0.36 x 0.25) = 0.3;  g1 0.84, g2 0.36 -> sqrt(0.16 x 0.64) = 0.32;  g = 0.62
        h1 0.5, h2 0.5 -> 0.5;  f = 1.12

    Paper: arXiv:2310.13227 (ToolChain*), cumulative and future cost.
    Unconfirmed: the product of powers and the exponents; the position of a step that occurs twice; h1 of an unknown
        step.
    Differs: nothing.
    """
    if not 0 <= alpha <= 1 or not 0 <= beta <= 1:
        raise InputError(f"plan_costs has alpha={alpha} and beta={beta}; give weights from 0 to 1")
    if not all(memory):
        raise InputError("a plan of the memory is empty; give each plan one step or more")
    return PlanCosts(memory, alpha, beta)


def _mixed(memory: float, own: float, weight: float) -> float:
    """Weighted geometric mean of two complements."""
    return float((1 - memory) ** weight * (1 - own) ** (1 - weight))
