"""MatchTIR (arXiv:2601.10712): match calls with reference calls softly, by optimal transport."""

from handaxe.methods.method import Method, replace
from handaxe.papers.matchtir.assigned_calls import assigned_calls

__all__ = ["matchtir_soft"]


def matchtir_soft(base: Method, *, regularisation: float = 0.1) -> Method:
    """Reward each turn by an entropic transport plan between its calls and the reference calls.

    Args:
        regularisation: of the transport plan; 0.1 in the paper.
    """
    gold, is_answer = base.world.need("reference"), base.world.need("is_answer")
    reward = assigned_calls(assign="soft", gold=gold, answered=is_answer, regularisation=regularisation)
    return replace(base, reward=reward)
