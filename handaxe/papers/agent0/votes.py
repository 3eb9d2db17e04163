"""What several answers to one question agree on, and what a question came to that was put to them."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from handaxe.core.records import Trajectory

__all__ = ["NOTE", "Proposal", "Vote", "majority", "proposal_of"]

NOTE = "proposal"
"""The note in which a rollout keeps what became of the question that was written in it."""


class Vote(NamedTuple):
    """The answer given most often, and the share of all answers that are it."""

    answer: str
    share: float


class Proposal(NamedTuple):
    """What became of a question.

    question    as it was read, "" where nothing could be read
    answer      what most attempts at it said, "" where none said anything
    share       of the attempts that said so
    calls       replies of tools, a mean over the attempts
    attempts    how many there were
    own         the answer of who asked, "" where none was given
    """

    question: str = ""
    answer: str = ""
    share: float = 0.0
    calls: float = 0.0
    attempts: int = 0
    own: str = ""


def majority(answers: Sequence[str]) -> Vote:
    """The answer given most often.

    Args:
        answers: in a form in which equal answers are equal texts; "" is none, which counts among all and wins nothing.

    Returns:
        Of answers given equally often the one that comes first in the order of texts, whatever their order here; ""
        with share 0 where there is no answer.

    Example:
        "7", "9", "7", "", "8"  ->  "7", share 0.4
    """
    counts = Counter(one for one in answers if one)
    if not counts:
        return Vote("", 0.0)
    answer = min(counts, key=lambda one: (-counts[one], one))
    return Vote(answer, counts[answer] / len(answers))


def proposal_of(trajectory: Trajectory) -> Proposal:
    """What became of the question of an attempt; an empty one where it asked nothing."""
    return Proposal(**trajectory.notes.get(NOTE, {}))
