"""Messages of a rollout: the texts that the environment returned, turn by turn."""

from __future__ import annotations

import hashlib

import numpy as np

from handaxe.core.protocols import StepJudge
from handaxe.core.records import (
    Ending,
    Message,
    ParsedTurn,
    Sampling,
    Task,
    TokenSequence,
    ToolReply,
    Trajectory,
    Turn,
)
from handaxe.judges.exact_steps import exact_steps

__all__ = ["PLACE", "mentions", "message_rollout", "messages_of"]

PLACE = Task("message", (Message("user", "message"),))
"""Task of every message that is labelled."""


def messages_of(trajectory: Trajectory) -> list[str]:
    """Return the message of each turn: the contents of its tool results, a line each; "" without a result.

    Example:
        a turn with the result "a1 +key", then a turn without a call  ->  ["a1 +key", ""]

    Paper: arXiv:2410.23022 (ONI), text captions of observations.
    Differs: a caption is all that a tool returns.
    """
    return ["\n".join(reply.content for reply in turn.replies) for turn in trajectory.turns]


def message_rollout(message: str) -> Trajectory:
    """Make a rollout of one turn with the message as result, for a judge that reads messages alone.

    The tokens are the bytes of the message, so that equal messages have equal errors under `judges.noisy`.

    Example:
        "a1 +key"  ->  one turn with one result, and the field "then" of a question is "a1 +key"

    Idea: a label is of a message, whatever came before it.
    """
    data = message.encode()
    ids = np.frombuffer(data or b" ", np.uint8).astype(np.int32)
    zero = np.zeros(len(ids), np.float32)
    tokens = TokenSequence(ids, zero.astype(np.int8), zero.astype(np.int32), zero, zero, zero.astype(np.int32))
    reply = ToolReply("0", "message", message)
    turn = Turn(0, 0, len(ids), ParsedTurn(""), "stop", Sampling(), 0, (reply,))
    name = f"message/{hashlib.sha256(data).hexdigest()[:16]}"
    return Trajectory(name, PLACE, 0, (turn,), (tokens,), Ending("completed"), PLACE.messages)


def mentions(words: tuple[str, ...]) -> StepJudge:
    """Make a rule for messages: 1 for a turn whose message contains one of the words, else 0.

    Args:
        words: such as "+key", which the views of `minigrid_text` contain while the agent holds the key.

    Returns:
        A step judge with scores 0 and 1.

    Example:
        words "+key", messages "a1 +key" and "walls"  ->  1 and 0

    Idea: a rule in the place of the language model that labels messages.
    """

    def verdicts(trajectory: Trajectory) -> np.ndarray:
        return np.array([float(any(word in text for word in words)) for text in messages_of(trajectory)])

    return exact_steps(verdicts=verdicts)
