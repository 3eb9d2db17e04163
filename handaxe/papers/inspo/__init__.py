"""INSPO: system instructions are drawn by what they earn and varied while the policy learns to follow them."""

from handaxe.curricula.advice import by_rules
from handaxe.methods.method import Method, replace
from handaxe.papers.inspo.instructions import instructions
from handaxe.papers.inspo.with_system_prompt import with_system_prompt

__all__ = ["inspo"]

SEEDS = ("Use a tool.", "", "Answer at once.", "Think first.")


def inspo(base: Method, *, population: int = 4, every: int = 5) -> Method:
    """Train under instructions drawn by what they earn.

    Args:
        population: how many there are, at most 4.
        every: steps between two evolutions; unconfirmed. More than the run has leaves a bandit.
    """
    known = instructions(initial=SEEDS[:population], propose=by_rules(), every=every, order=base.tasks)
    best = with_system_prompt(rollout=base.rollout, opening=known.with_best)
    return replace(base, tasks=known.curriculum, evaluate_rollout=best)
