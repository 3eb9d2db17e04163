"""Submission of a rollout: a message, and the observations that are to prove it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from handaxe.core.records import Task, ToolCall, ToolReply, Trajectory
from handaxe.tools.decorator import tool

__all__ = ["Submission", "chosen_observations", "holds_documents", "read_submission", "submit"]


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


def read_submission(trajectory: Trajectory) -> Submission | None:
    """Read the submission of a rollout; None unless it passes the gate.

        passes = exactly one call of submit, the last call of all, with a text as message and a list of evidences that
                 is not empty, all of them numbers of observations that are not of submit

    Evidence n is tool result n of the rollout, from 0, results of `submit` included.

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
    replies = trajectory.replies
    message, numbers = calls[-1].arguments.get("message"), _evidences(calls[-1])
    known = [n for n, reply in enumerate(replies) if reply.name != SUBMIT]
    if not isinstance(message, str) or not numbers or not set(numbers) <= set(known):
        return None
    return Submission(message, tuple(replies[n] for n in numbers), len(known))


def chosen_observations(trajectory: Trajectory) -> tuple[ToolReply, ...]:
    """Return the submitted observations; () without a valid submission.

    Example:
        search, submit(message="5526", evidences=[0, 0])  ->  the first result, twice

    Idea: a valid submission has evidence, so that () tells that there is none.
    """
    found = read_submission(trajectory)
    return () if found is None else found.chosen


def holds_documents(seen: Sequence[ToolReply], task: Task) -> bool:
    """Test whether each reference document of a task, `metadata["gold_documents"]`, is the source "[ID]" of a result.

    Example:
        documents "4071 boss" and "5526 ally", result "[4071 boss] 4071 boss 5526" alone  ->  False

    Idea: evidence is complete with every fact of a question.
    """
    return all(any(f"[{name}]" in one.content for one in seen) for name in task.metadata["gold_documents"])


def _evidences(call: ToolCall) -> list[int]:
    """Numbers of a call; [] for anything else than a list of whole numbers."""
    found = call.arguments.get("evidences")
    if not isinstance(found, list) or not all(isinstance(one, int) and not isinstance(one, bool) for one in found):
        return []
    return found
