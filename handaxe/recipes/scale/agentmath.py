"""AgentMath: long rollouts go on in the next step, and only finished ones train."""

from handaxe.losses.reductions.token_mean import token_mean
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.plain import plain

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


def agentmath(base: Method, *, segment_tokens: int | None = 48, segment_calls: int | None = 1) -> Method:
    """Train with agentic partial rollouts, whose segments had different weights, on DAPO's token-level loss.

    Differs: no synthetic data, growing limits, reward for few calls, balancing. Unconfirmed: segments' sizes, the clip.

    Args:
        segment_tokens: tokens a rollout may add in one step; None: no bound.
        segment_calls: calls a rollout may make in one step; None: no bound.
    """
    pace = replace(base.pace, segment_tokens=segment_tokens, segment_calls=segment_calls)
    return replace(base, reduction=token_mean(), pace=pace)
