"""ARPO for GUI agents: a group in which all failed is given a success of an earlier step."""

from handaxe.methods.method import Method, replace
from handaxe.selection.pipe import pipe
from handaxe.selection.success_replay import success_replay

__all__ = ["arpo_gui"]


def arpo_gui(base: Method, *, most: int = 8, above: float = 0.1) -> Method:
    """Train with a store of each task's successes.

    Args:
        most: successes stored of a task; 8 in the paper.
        above: the reward above which an attempt is one; 0.1 in the paper.
    """
    return replace(base, select=pipe(base.select, success_replay(credit=base.credit, most=most, above=above)))
