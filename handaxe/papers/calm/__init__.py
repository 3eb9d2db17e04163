"""CALM (arXiv:2409.12798): reward sub-goals as they are reached, in addition to the sparse outcome."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.calm.subgoals import subgoals

__all__ = ["calm"]


def calm(base: Method, *, bonus: float = 0.5) -> Method:
    """Add a bonus to the turn that reaches the first open sub-goal.

    Args:
        bonus: b, reward of a sub-goal; a correct answer earns 1.
    """
    criteria = base.world.need("criteria")
    check = base.judge.check(rule=base.world.check, criteria=criteria)
    goals = subgoals(criteria=criteria, check=check, bonus=bonus)
    return replace(base, reward=rewards.weighted({"correct": (1.0, base.reward), "goals": (1.0, goals)}))
