"""AgentMath: long rollouts go on in the next step, only finished ones train, and limits grow where they cut much."""

from handaxe.losses.reductions.token_mean import token_mean
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.plain import plain
from handaxe.rollouts.budget import budgets
from handaxe.rollouts.grown_limits import grown_limits
from handaxe.rollouts.linear import linear
from handaxe.training.stages.teach_solutions import teach_solutions
from handaxe.worlds.worked_steps import worked_steps

__all__ = ["agentmath"]

TITLE = "AgentMath: Empowering Mathematical Reasoning for Large Language Models via Tool-Augmented Agent"
FASTER = "More tokens are trained in a second when long rollouts go on in the next step, as accurate."
WHOLE = "agentmath --segment-tokens None --segment-calls None"
RECIPE = Recipe(
    paper=Paper(TITLE, "AgentMath", "2512.20745", 149),
    claims=(Claim(FASTER, "training/trained_tokens_per_second", "up", baseline=WHOLE, same="pass@1"),),
    base=partial(plain, eps_high=0.28),
    world=partial(worked_steps, ask="parity"),
    setting=Setting(model="start", wait=0.1, max_turns=8, max_tokens=24),
)


def agentmath(
    base: Method,
    *,
    segment_tokens: int | None = 48,
    segment_calls: int | None = 3,
    tokens: tuple[int, ...] = (48, 72, 96),
    calls: tuple[int, ...] = (4, 6, 8),
    truncated: float = 0.1,
    passes: int = 0,
    solutions: int = 64,
) -> Method:
    """Train with agentic partial rollouts, whose segments had different weights, on DAPO's token-level loss.

    Differs: no reward for few calls, no balancing. Unconfirmed: segments' sizes, the clip, when limits grow.

    Args:
        segment_tokens: that a rollout may add in one step; None: no bound.
        segment_calls: that it may make in one step; None: no bound.
        tokens: that a rollout may have in all, by stage; 48k, 72k and 96k in the paper.
        calls: that it may make, by stage; 48, 72 and 96 in the paper. Nothing for both: the setting's turns alone.
        truncated: share of rollouts cut off above which the next stage begins.
        passes: over worked solutions rewritten with calls, learnt first, as `--world.names gsm_symbolic` of gym has.
        solutions: how many of them.
    """
    limits = grown_limits(stages=budgets(tokens=tokens, calls=calls), above=truncated)
    taught = teach_solutions(world=base.world, count=solutions, passes=passes)
    return replace(
        base,
        reduction=token_mean(),
        rollout=linear(max_turns=base.setting.max_turns, budget=limits),
        learners=(*base.learners, limits),
        pace=replace(base.pace, segment_tokens=segment_tokens, segment_calls=segment_calls),
        stages=(*base.stages, taught),
    )
