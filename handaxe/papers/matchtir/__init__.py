"""MatchTIR: turns are rewarded by the reference calls that theirs are matched with, and judged on two levels."""

from handaxe.credit.group_norm import group_norm
from handaxe.credit.total import total
from handaxe.credit.turn_norm import turn_norm
from handaxe.methods.method import Method, replace
from handaxe.papers.matchtir.assigned_calls import Assign, assigned_calls

__all__ = ["matchtir"]


def matchtir(base: Method, *, assign: Assign = "hard", gamma: float = 0.9, turn_share: float = 0.5) -> Method:
    """Train on the worth of each turn's calls, half by trajectory and half by turn.

    Args:
        assign: hard (one to one) or soft (optimal transport, extra [transport]).
        gamma: discount by turn; 0.9 in the paper.
        turn_share: weight of the turn's advantage beside 0.5 of the trajectory's; 0.5 in the paper.
    """
    matched = assigned_calls(assign=assign, gold=base.world.need("reference"), answered=base.world.need("answered"))
    turn = turn_norm(norm="index", order="sum_first", gamma=gamma, lone="reward")
    credit = total({"trajectory": (0.5, group_norm()), "turn": (turn_share, turn)})
    return replace(base, reward=matched, credit=credit)
