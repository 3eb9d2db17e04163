"""ASearcher (arXiv:2508.07976), data synthesis: measure how injections and blurs make questions harder."""

from handaxe.methods.method import StudyFunction
from handaxe.papers.asearcher.direct_answers import question_shares

__all__ = ["asearcher_questions"]


def asearcher_questions(*, known: float = 0.7, count: int = 400, injections: int = 3) -> StudyFunction:
    """Count questions answered by a rule without search; nothing is trained.

    Args:
        known: share of the facts known by heart, in place of a model's own knowledge.
        count: questions with `injections` injections.
        injections: most injections of a question.
    """
    return question_shares(known=known, count=count, injections=injections)
