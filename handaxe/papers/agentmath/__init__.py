"""AgentMath: long rollouts go on in the next step, only finished ones train, and limits grow where they cut much."""

from handaxe.losses.reductions.token_mean import token_mean
from handaxe.methods.method import Method, replace
from handaxe.papers.agentmath.grown_limits import grown_limits
from handaxe.rewards import gate, weighted
from handaxe.rewards.call_cost import call_cost
from handaxe.rollouts.budget import budgets
from handaxe.rollouts.linear import linear
from handaxe.training.stages.teach_solutions import teach_solutions

__all__ = ["agentmath"]


def agentmath(
    base: Method,
    *,
    segment_tokens: int | None = 48,
    segment_calls: int | None = 3,
    tokens: tuple[int, ...] = (48, 72, 96),
    calls: tuple[int, ...] = (4, 6, 8),
    truncated: float = 0.1,
    few: float = 0.1,
    passes: int = 0,
    solutions: int = 64,
) -> Method:
    """Train with agentic partial rollouts, whose segments had different weights, on DAPO's token-level loss.

    Args:
        segment_tokens, segment_calls: that a rollout may add in one step; None: no bound.
        tokens, calls: of a rollout in all, by stage; 48k, 72k, 96k and 48, 72, 96 in the paper. Nothing: no such bound.
        truncated: share of rollouts cut off above which the next stage begins.
        few: what a right answer earns by few calls, 1 / (calls + 1) times this.
        passes, solutions: how often, and how many, solutions rewritten with calls are learnt first (gym has them).
    """
    short = gate(on=base.reward, then=call_cost(form="inverse"))
    limits = grown_limits(stages=budgets(tokens=tokens, calls=calls), above=truncated)
    return replace(
        base,
        reward=weighted({"right": (1.0, base.reward), "few": (few, short)}),
        reduction=token_mean(),
        rollout=linear(max_turns=base.settings.max_turns, budget=limits),
        learners=(*base.learners, limits),
        pace=replace(base.pace, segment_tokens=segment_tokens, segment_calls=segment_calls),
        stages=(*base.stages, teach_solutions(world=base.world, count=solutions, passes=passes)),
    )
