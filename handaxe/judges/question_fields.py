"""Fields of questions about a turn of a rollout, as texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from handaxe.asking.prompt import Prompt
from handaxe.core.errors import InputError
from handaxe.core.images import name_images
from handaxe.core.records import Criterion, Trajectory
from handaxe.ops.conversation_text import conversation_text
from handaxe.ops.turn_positions import turn_positions

__all__ = ["FIELDS", "question_fields"]


def question_fields(prompt: Prompt, trajectory: Trajectory, turn: int, criterion: Criterion | None) -> dict[str, str]:
    """Texts of the fields of a prompt for one turn. Other fields than `answer` show nothing after the turn's replies.

    task          last message of the task
    criterion     text of the criterion
    conversation  messages after the task, up to the replies of the turn; a line "ROLE: TEXT" each
    before        results of the turn before
    answer        last text of the rollout
    reference     answer of the task; a prompt with this field sees it
    did, then     the turn as the policy wrote it, and the results of its calls

    Raises:
        InputError: the prompt has another field, or a field "criterion" without a criterion.

    Idea: what verifiers of single steps read: the task, the step and its result.

    Example:
        fields did and then of a turn that calls the calculator -> {"did": "calculator 2*7", "then": "14"}
    """
    wanted = (*prompt.trusted, *prompt.quoted)
    if unknown := [name for name in wanted if name not in FIELDS or (name == "criterion" and criterion is None)]:
        raise InputError(
            f"prompt {prompt.name} has the fields {', '.join(unknown)}, which this question lacks: it has "
            f"{', '.join(name for name in FIELDS if criterion or name != 'criterion')}"
        )
    return {name: FIELDS[name](trajectory, turn, criterion) for name in wanted}


def _task(trajectory: Trajectory, turn: int, criterion: Criterion | None) -> str:
    del turn, criterion
    last = trajectory.task.messages[-1]
    return name_images(last.content, last.images)


def _criterion(trajectory: Trajectory, turn: int, criterion: Criterion | None) -> str:
    del trajectory, turn
    return criterion.text if criterion else ""


def _conversation(trajectory: Trajectory, turn: int, criterion: Criterion | None) -> str:
    del criterion
    positions = [*turn_positions(trajectory.messages, turns=len(trajectory.turns)), len(trajectory.messages)]
    if len(positions) <= len(trajectory.turns):  # the record omits turns
        return "\n".join(_turn_lines(trajectory, k) for k in range(turn + 1))
    shown = trajectory.messages[positions[0] : positions[turn + 1]]
    return conversation_text(shown)


def _turn_lines(trajectory: Trajectory, turn: int) -> str:
    own = trajectory.turns[turn]
    return f"assistant: {own.parsed.raw}\ntool: {_replies(trajectory, turn)}"


def _replies(trajectory: Trajectory, turn: int) -> str:
    return "\n".join(name_images(reply.content, reply.images) for reply in trajectory.turns[turn].replies)


def _before(trajectory: Trajectory, turn: int, criterion: Criterion | None) -> str:
    del criterion
    return _replies(trajectory, turn - 1) if turn else ""


def _did(trajectory: Trajectory, turn: int, criterion: Criterion | None) -> str:
    del criterion
    return trajectory.turns[turn].parsed.raw


def _then(trajectory: Trajectory, turn: int, criterion: Criterion | None) -> str:
    del criterion
    return _replies(trajectory, turn)


def _answer(trajectory: Trajectory, turn: int, criterion: Criterion | None) -> str:
    del turn, criterion
    return trajectory.final_text


def _reference(trajectory: Trajectory, turn: int, criterion: Criterion | None) -> str:
    del turn, criterion
    known = trajectory.task.answer
    return known if isinstance(known, str) else json.dumps(known, ensure_ascii=False, default=str)


FIELDS: Mapping[str, Callable[[Trajectory, int, Criterion | None], str]] = {
    "task": _task,
    "criterion": _criterion,
    "conversation": _conversation,
    "before": _before,
    "did": _did,
    "then": _then,
    "answer": _answer,
    "reference": _reference,
}
"""Name of a field -> (trajectory, turn, criterion) -> text."""
