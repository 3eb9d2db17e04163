"""ASearcher's data: what injections and blurs make of questions, counted; nothing is trained."""

from handaxe.evaluation.direct_answers import shares_of_questions
from handaxe.methods.study import Bound, Measured, Paper, Study

__all__ = ["asearcher_questions"]

TITLE = "Beyond Ten Turns: Unlocking Long-Horizon Agentic Search with Large-Scale Asynchronous RL"
STUDY = Study(
    paper=Paper(TITLE, "ASearcher's data", "2508.07976", 196),
    bounds=(
        Bound("Fewer questions can be answered without search after each injection.", "least_fall", least=0.01),
        Bound("Every question keeps one answer, and it stays the same.", "unique", least=1.0),
        Bound("Its searches find what it describes.", "found", least=1.0),
    ),
)


def asearcher_questions(*, known: float = 0.7, count: int = 400, injections: int = 3) -> Measured:
    """Count questions that are answered without search, by a rule in the place of a model's own knowledge.

    Args:
        known: share of the facts that are known by heart.
        count: questions, each of which takes that many injections.
        injections: at most.
    """
    return shares_of_questions(known=known, count=count, injections=injections)
