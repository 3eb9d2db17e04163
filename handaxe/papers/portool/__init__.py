"""PORTool: a tree of turns, each worth what becomes of it, and judged against the turns tried in its place."""

from handaxe.credit.fork_norm import fork_norm
from handaxe.credit.group_norm import group_norm
from handaxe.credit.total import total as total_of
from handaxe.methods.method import Method, replace
from handaxe.papers.portool.shared_steps import shared_steps
from handaxe.papers.portool.tree import tree

__all__ = ["portool"]


def portool(base: Method, *, total: int = 8, fork_most: int = 2, gamma: float = 0.95, turns: int = 3) -> Method:
    """Train on a tree's turns; a group is one attempt. The base plays as many that share nothing.

    Args:
        total: trajectories of a question.
        fork_most: most turns tried after a turn.
        gamma: discount a turn.
        turns: most turns of a trajectory.
    """
    credit = total_of({"all": (1.0, group_norm(channel="steps")), "fork": (1.0, fork_norm(channel="step"))})
    rollout = tree(total=total, fork_most=fork_most, max_turns=turns)
    return replace(base, rollout=rollout, reward=shared_steps(base=base.reward, gamma=gamma), credit=credit)
