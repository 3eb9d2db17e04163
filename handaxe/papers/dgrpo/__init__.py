"""DGRPO: hard tasks, and hard families of tasks, weigh more."""

from handaxe.methods.method import Method, replace
from handaxe.papers.dgrpo.difficulty_weight import difficulty_weight

__all__ = ["dgrpo"]


def dgrpo(base: Method, *, family: str = "difficulty", decay: float = 0.9, temperature: float = 1.0) -> Method:
    """Weigh advantages by how little is earned at a task and at tasks of its family.

    Args:
        family: of the tasks' metadata that names the family.
        decay: of the running mean of what a family earns.
        temperature: of families; the larger, the less they differ.
    """
    return replace(base, shape=difficulty_weight(family=family, decay=decay, temperature=temperature))
