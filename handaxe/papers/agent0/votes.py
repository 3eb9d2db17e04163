"""Majority vote over sampled answers, and the record of a proposed question."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from handaxe.core.records import Trajectory

__all__ = ["NOTE", "Proposal", "Vote", "majority", "read_proposal"]

NOTE = "proposal"
"""Name of the trajectory note with the `Proposal`."""


class Vote(NamedTuple):
    """The most frequent answer, and the share of equal answers."""

    answer: str
    share: float


class Proposal(NamedTuple):
    """A written question and the solver's answers.

    question    as read, "" for an unreadable text
    answer      most frequent answer of the solver, "" without any
    share       of the solver's rollouts that gave it
    calls       tool results, mean over the solver's rollouts
    attempts    number of the solver's rollouts
    own         the proposer's own answer, "" without one
    """

    question: str = ""
    answer: str = ""
    share: float = 0.0
    calls: float = 0.0
    attempts: int = 0
    own: str = ""


def majority(answers: Sequence[str]) -> Vote:
    """Return the most frequent answer.

    Args:
        answers: normalised so that equal answers are equal texts; "" is no answer: it counts in the total and never
            wins.

    Returns:
        The first in text order of equally frequent answers, independent of their order here; "" with share 0 if there
        is no answer.

    Example:
        "7", "9", "7", "", "8"  ->  "7", share 0.4
    """
    counts = Counter(one for one in answers if one)
    if not counts:
        return Vote("", 0.0)
    answer = min(counts, key=lambda one: (-counts[one], one))
    return Vote(answer, counts[answer] / len(answers))


def read_proposal(trajectory: Trajectory) -> Proposal:
    """Read the proposal of a trajectory, by default an empty proposal."""
    return Proposal(**trajectory.notes.get(NOTE, {}))
