"""ARPO: half of a question's trajectories branch off the others, where a tool's reply left the policy unsure."""

from handaxe.methods.method import Method, replace
from handaxe.rollouts.branch_chance import branch_chance
from handaxe.rollouts.branching import branching

__all__ = ["arpo"]


def arpo(
    base: Method, *, total: int = 8, from_start: int = 4, copies: int = 1, turns: int = 3, vocabulary: int = 264
) -> Method:
    """Branch after tool replies, more probably the more the entropy has risen; a group is one attempt, a tree.

    Args:
        total: trajectories of a question; 16 in the paper.
        from_start: of these, from the question on; 8 in the paper. As many as in all: nothing branches.
        copies: most branches at a turn; 1 in the paper.
        turns: most turns of a trajectory.
        vocabulary: ids that the policy can say; 264 for the tiny ones.
    """
    chance = branch_chance(vocabulary=vocabulary)
    rollout = branching(chance=chance, total=total, from_start=from_start, copies=copies, max_turns=turns)
    return replace(base, rollout=rollout)
