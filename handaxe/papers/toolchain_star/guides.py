"""Guides of a frontier search: costs of a sampled step from plans, or from the policy's likelihood alone."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from handaxe.papers.toolchain_star.frontier_search import Guide, SearchStep
from handaxe.papers.toolchain_star.imagined_plan import imagined_plan
from handaxe.papers.toolchain_star.plan_costs import PlanCosts
from handaxe.rollouts.play import Request

__all__ = ["likelihood_guide", "plan_guide"]


def plan_guide(costs: PlanCosts, *, max_turns: int) -> Guide:
    """Make the guide of ToolChain*: g adds a step cost to the parent's, h is the future cost.

    Args:
        costs: see `plan_costs`. With beta 1 the policy imagines nothing.
        max_turns: of an imagined plan.

    Example:
        parent with g 0.3, step cost 0.32, future cost 0.5  ->  (0.62, 0.5)

    Paper: arXiv:2310.13227 (ToolChain*), cost functions.
    Differs: see `plan_costs` and `imagined_plan`.
    """

    def guide(step: SearchStep) -> Generator[Request, Any, tuple[float, float]]:
        assert step.parent is not None and step.parent.node is not None and step.completion is not None
        cumulative = step.parent.cumulative + costs.step_cost(step.plan, step.share)
        imagined = step.plan
        if costs.beta < 1:
            play = step.parent.node.play
            imagined = yield from imagined_plan(play, step.completion, step.plan, max_turns=max_turns)
        return cumulative, costs.future_cost(step.plan, imagined)

    return guide


def likelihood_guide() -> Guide:
    """Make a guide by the policy's likelihood: the mean over the steps so far of -log P(turn), and no future cost.

    Example:
        -log P of the turns 0.2 and 0.6  ->  (0.4, 0.0)

    Idea: beam search over turns, normalized by their number, since an early answer would win otherwise.
    """

    def guide(step: SearchStep) -> Generator[Request, Any, tuple[float, float]]:
        assert step.parent is not None and step.completion is not None
        depth, own = len(step.plan), -float(np.sum(step.completion.logp))
        return (step.parent.cumulative * (depth - 1) + own) / depth, 0.0
        yield

    return guide
