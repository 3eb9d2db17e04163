"""CLEANER: a call that failed and was put right is replaced by what put it right, before anything trains."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.rollouts.repairing import repairing
from handaxe.worlds.slips import slips

__all__ = ["cleaner"]

TITLE = "CLEANER: Self-Purified Trajectories Boost Agentic Reinforcement Learning"
RECIPE = Recipe(
    paper=Paper(TITLE, "CLEANER", "2601.15141", 163),
    claims=(
        Claim("First calls fail less often, sooner.", "first_call_failed", "down", over="area", vice=0.2),
        Claim("As accurate in fewer steps.", "pass@1", "up", over="area"),
    ),
    world=slips,
    setting=Setting(model="start", eval_every=5),
)


def cleaner(base: Method, *, retries: int = 3, similar: float = 0.5, turns: int = 3) -> Method:
    """Train on purified attempts; evaluations are played without repairs.

    Args:
        retries: K, turns that may put a failure right; unconfirmed.
        similar: gamma, from which on the thought before the failed call is kept; unconfirmed.
        turns: of an attempt in training.
    """
    rollout = repairing(retries=retries, similar=similar, max_turns=turns)
    return replace(base, rollout=rollout, annotate=(*base.annotate, "old_logp"))
