"""Submission of a rollout: a message, and the observations that are to prove it."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from handaxe.core.records import ToolCall, ToolReply, Trajectory
from handaxe.tools.decorator import tool

__all__ = ["Submission", "observations_of", "read_submission", "submit"]


@tool(timeout=None)
def submit(
    message: Annotated[str, "the answer"], evidences: Annotated[list[int], "numbers of tool results, from 0"]
) -> str:
    """Submit the answer with the results that prove it; the conversation is over then."""
    del message, evidences
    return "submitted"


SUBMIT = submit.schema.name


class Submission(NamedTuple):
    """A valid submission.

    message      claim of the agent
    chosen       the submitted observations, in the submitted order, with repetitions
    observations  number of observations before the submission
    """

    message: str
    chosen: tuple[ToolReply, ...]
    observations: int


def observations_of(trajectory: Trajectory) -> list[ToolReply]:
    """Return all tool results in order, that of `submit` included: evidence n is the n-th of these, from 0.

    Example:
        search, search, submit  ->  three results, of which 0 and 1 may be evidence
    """
    return trajectory.replies


def read_submission(trajectory: Trajectory) -> Submission | None:
    """Read the submission of a rollout; None unless it passes the gate.

        passes = exactly one call of submit, the last call of all, with a text as message and a list of evidences that
                 is not empty, all of them numbers of observations that are not of submit

    Args:
        trajectory: a rollout in an environment with `submit`.

    Example:
        search, submit(message="5526", evidences=[0])  ->  message "5526" with the first result
        evidences [], [1], [2], two calls of submit, or none  ->  None

    Paper: arXiv:2512.22322 (SmartSnap), the checks before the judge, as in the released code.
    Differs: a message that is no text fails, too.
    """
    calls = trajectory.calls
    if [call.name for call in calls].count(SUBMIT) != 1 or calls[-1].name != SUBMIT:
        return None
    replies = observations_of(trajectory)
    message, numbers = calls[-1].arguments.get("message"), _evidences(calls[-1])
    known = [n for n, reply in enumerate(replies) if reply.name != SUBMIT]
    if not isinstance(message, str) or not numbers or not set(numbers) <= set(known):
        return None
    return Submission(message, tuple(replies[n] for n in numbers), len(known))


def _evidences(call: ToolCall) -> list[int]:
    """Numbers of a call; [] for anything else than a list of whole numbers."""
    found = call.arguments.get("evidences")
    if not isinstance(found, list) or not all(isinstance(one, int) and not isinstance(one, bool) for one in found):
        return []
    return found
