"""Messages of a play's current sequence: all of them until a strategy begins a new sequence.

    messages   0 user | 1 assistant, 2 tool, 3 assistant, 4 tool | 5 memory | 6 assistant
    notes      {"anew": [{"read": [0, 5], "then": 6}]}              the second sequence holds 0, 5 and all from 6 on

The notes of a trajectory (JSON) have one entry per new sequence, for forks and `continue_trajectory`.
Idea: a strategy may show its policy less than the conversation, and the record must hold the shown messages.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from handaxe.core.records import Ending, Message
from handaxe.ops.rewindable import NEW_SEQUENCE_NOTE

if TYPE_CHECKING:
    from handaxe.rollouts.play.play import Play

__all__ = [
    "CONTINUE",
    "Continuation",
    "INTERJECT_NOTE",
    "history",
    "interjected",
    "record_new_sequence",
    "starts_beyond",
]

INTERJECT_NOTE = "interjected"
"""Key of the notes that list, for each message of `Attempt.interject`, the turn that reads it first."""


class Continuation(NamedTuple):
    """Strategy's action between a reply and the next turn.

    messages      messages with a `name`, appended to the reply
    new_sequence  opening of a new sequence (see `Play.new_sequence`); None continues the current one
    ending        ends the rollout after the reply; None continues
    """

    messages: tuple[Message, ...] = ()
    new_sequence: tuple[Message, ...] | None = None
    ending: Ending | None = None


CONTINUE = Continuation()


def history(messages: Sequence[Message], notes: Mapping[str, Any]) -> list[Message]:
    """Return the messages of the current sequence, in order.

    Example:
        of the drawing above: messages 0, 5 and 6
    """
    if not notes.get(NEW_SEQUENCE_NOTE):
        return list(messages)
    last = notes[NEW_SEQUENCE_NOTE][-1]
    return [*(messages[i] for i in last["read"]), *messages[last["then"] :]]


def record_new_sequence(messages: Sequence[Message], notes: dict[str, Any], opening: Sequence[Message]) -> None:
    """Write into the notes that a new sequence begins with `opening`, whose messages are all in the conversation."""
    places = [messages.index(message) for message in opening]
    notes[NEW_SEQUENCE_NOTE] = [*notes.get(NEW_SEQUENCE_NOTE, []), {"read": places, "then": len(messages)}]


def starts_beyond(notes: Mapping[str, Any], stop: int) -> bool:
    """Return True if the current sequence began after more than the first `stop` messages."""
    return bool(notes.get(NEW_SEQUENCE_NOTE)) and notes[NEW_SEQUENCE_NOTE][-1]["then"] > stop


def interjected(play: Play, said: Sequence[Message]) -> Generator[Any, Any, tuple[Message, ...] | Ending]:
    """Return the messages of `Attempt.interject` for the next turn, noted by turn, or the ending of the rollout."""
    if play.attempt.interject is None:
        return ()
    found: tuple[Message, ...] | Ending = yield from play.attempt.interject(play, said)
    if not isinstance(found, Ending) and found:
        play.notes[INTERJECT_NOTE] = [*play.notes.get(INTERJECT_NOTE, []), *[len(play.turns)] * len(found)]
    return found
