"""MatchTIR (arXiv:2601.10712): match calls with reference calls; judge turns and trajectories."""

from handaxe import credit
from handaxe.methods.method import Method, replace
from handaxe.papers.matchtir.assigned_calls import assigned_calls

__all__ = ["matchtir"]


def matchtir(base: Method, *, gamma: float = 0.9, turn_share: float = 0.5) -> Method:
    """Reward each turn by an injective matching of calls; add trajectory and turn advantages.

    Args:
        gamma: discount per turn; 0.9 in the paper.
        turn_share: weight of the turn advantage, beside 0.5 of the trajectory's; 0.5 in the paper.
    """
    turn = credit.turn_norm(norm="index", order="sum_first", gamma=gamma, lone="reward")
    return replace(
        base,
        reward=assigned_calls(gold=base.world.need("reference"), answered=base.world.need("is_answer")),
        credit=credit.total({"trajectory": (0.5, credit.group_norm()), "turn": (turn_share, turn)}),
    )
