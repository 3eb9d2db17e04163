"""AgentMath (arXiv:2512.20745): resume long rollouts in the next step, and raise limits that truncate too often."""

from handaxe import rewards, rollouts
from handaxe.losses import reductions
from handaxe.methods.method import Method, replace
from handaxe.papers.agentmath.grown_limits import grown_limits
from handaxe.rollouts.budget import budgets

__all__ = ["agentmath"]


def agentmath(
    base: Method,
    *,
    segment_tokens: int | None = 48,
    segment_calls: int | None = 3,
    token_limits: tuple[int, ...] = (48, 72, 96),
    call_limits: tuple[int, ...] = (4, 6, 8),
    max_truncation: float = 0.1,
    call_bonus: float = 0.1,
) -> Method:
    """Train finished rollouts on DAPO's token-level loss; rollouts span several steps in bounded segments.

    Args:
        segment_tokens, segment_calls: limits of a rollout's segment within one step; None for no limit.
        token_limits, call_limits: limits of a whole rollout by stage; 48k, 72k, 96k and 48, 72, 96 in the paper; ()
            for no limit.
        max_truncation: share of truncated rollouts above which the next stage begins. Unconfirmed.
        call_bonus: reward of a correct answer without calls; divided by calls + 1. Unconfirmed.
    """
    economy = rewards.gate(on=base.reward, then=rewards.call_cost(form="inverse"))
    limits = grown_limits(stages=budgets(tokens=token_limits, calls=call_limits), above=max_truncation)
    return replace(
        base,
        reward=rewards.weighted({"right": (1.0, base.reward), "few": (call_bonus, economy)}),
        reduction=reductions.token_mean(),
        rollout=rollouts.linear(max_turns=base.settings.max_turns, budget=limits),
        learners=(*base.learners, limits),
        async_config=replace(base.async_config, segment_tokens=segment_tokens, segment_calls=segment_calls),
    )
