"""CALM: reaching the next sub-goal pays at once, beside what the environment pays in the end."""

from handaxe.methods.method import Method, replace
from handaxe.papers.calm.subgoals import subgoals
from handaxe.rewards.weighted import weighted

__all__ = ["calm"]


def calm(base: Method, *, bonus: float = 0.5) -> Method:
    """Add a bonus in the turn in which the first sub-goal left is reached.

    Args:
        bonus: b, of a sub-goal; a right answer is worth 1.
    """
    goals = subgoals(criteria=base.world.need("criteria"), check=base.world.need("check"), bonus=bonus)
    return replace(base, reward=weighted({"correct": (1.0, base.reward), "goals": (1.0, goals)}))
