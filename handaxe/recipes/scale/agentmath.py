"""AgentMath: long rollouts go on in the next step, and only finished ones train."""

from handaxe.losses.reductions.token_mean import token_mean
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.plain import plain
from handaxe.training.calls_from_solutions import calls_from_solutions
from handaxe.training.stages.repeat import repeat
from handaxe.training.stages.teach import teach

__all__ = ["agentmath"]

TITLE = "AgentMath: Empowering Mathematical Reasoning for Large Language Models via Tool-Augmented Agent"
FASTER = "More tokens are trained in a second when long rollouts go on in the next step, as accurate."
WHOLE = "agentmath --segment-tokens None --segment-calls None"
RECIPE = Recipe(
    paper=Paper(TITLE, "AgentMath", "2512.20745", 149),
    claims=(Claim(FASTER, "training/trained_tokens_per_second", "up", baseline=WHOLE, same="pass@1"),),
    base=partial(plain, eps_high=0.28),
    setting=Setting(wait=0.1, max_turns=4),
)


def agentmath(
    base: Method,
    *,
    segment_tokens: int | None = 48,
    segment_calls: int | None = 1,
    passes: int = 0,
    solutions: int = 64,
) -> Method:
    """Train with agentic partial rollouts, whose segments had different weights, on DAPO's token-level loss.

    Differs: no growing limits, reward for few calls, balancing. Unconfirmed: segments' sizes, the clip.

    Args:
        segment_tokens: tokens a rollout may add in one step; None: no bound.
        segment_calls: calls a rollout may make in one step; None: no bound.
        passes: over worked solutions rewritten with calls, learnt first; needs a world that shows its work, such as
            `--world.names gsm_symbolic`, and a model that reads its questions.
        solutions: how many of them.
    """
    shown = teach(source=calls_from_solutions(world=base.world, count=solutions))
    pace = replace(base.pace, segment_tokens=segment_tokens, segment_calls=segment_calls)
    stages = (*base.stages, repeat(stages=[shown], times=passes))
    return replace(base, reduction=token_mean(), pace=pace, stages=stages)
