"""ASearcher's data: what injections and blurs make of questions, counted; nothing is trained."""

from handaxe.methods.method import Measured
from handaxe.papers.asearcher.direct_answers import shares_of_questions

__all__ = ["asearcher_questions"]


def asearcher_questions(*, known: float = 0.7, count: int = 400, injections: int = 3) -> Measured:
    """Count questions that are answered without search, by a rule in the place of a model's own knowledge.

    Args:
        known: share of the facts that are known by heart.
        count: questions, each of which takes that many injections.
        injections: at most.
    """
    return shares_of_questions(known=known, count=count, injections=injections)
