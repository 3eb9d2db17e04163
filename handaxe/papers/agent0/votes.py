"""Record of a proposed question with the answers of a solver."""

from typing import NamedTuple

from handaxe.core.records import Trajectory

__all__ = ["NOTE", "Proposal", "read_proposal"]

NOTE = "proposal"
"""Name of the trajectory note with the `Proposal`."""


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


def read_proposal(trajectory: Trajectory) -> Proposal:
    """Read the proposal of a trajectory, by default an empty proposal.

    Example:
        a trajectory with the note {"proposal": {...}} -> Proposal(...)

    Paper: arXiv:2511.16043 (Agent0), questions of the curriculum agent with answers of the executor.
    """
    return Proposal(**trajectory.notes.get(NOTE, {}))
