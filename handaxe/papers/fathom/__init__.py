"""Fathom: solved tasks leave, failed ones get their latest success, what is left is scaled up, and repeats cost."""

from handaxe.methods.method import Method, replace
from handaxe.papers.fathom.prune_solved import prune_solved
from handaxe.papers.fathom.redundant_calls import redundant_calls
from handaxe.papers.fathom.rescale_by_informative_groups import rescale_by_informative_groups
from handaxe.selection.pipe import pipe
from handaxe.selection.success_replay import success_replay

__all__ = ["fathom"]


def fathom(
    base: Method, *, rate: float = 0.9, penalty: float = 1.0, floor: float = 0.5, novelty: float = 0.5
) -> Method:
    """Train as RAPO does, on the reward of steps that are not redundant.

    Args:
        rate: the share of right attempts from which on a task is left out; 0.9 in the paper.
        penalty: what a redundant share of 1 takes from a right attempt.
        floor: least that a right attempt earns.
        novelty: most that a wrong attempt earns, for calls that are not redundant.
    """
    reward = redundant_calls(base=base.reward, penalty=penalty, floor=floor, novelty=novelty)
    latest = success_replay(credit=base.credit, most=1, place="random", channel="base")
    tasks = prune_solved(rate=rate, around=base.tasks, channel="base")
    return replace(
        base, reward=reward, tasks=tasks, select=pipe(base.select, latest), shape=rescale_by_informative_groups()
    )
