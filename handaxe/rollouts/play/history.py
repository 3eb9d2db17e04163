"""Which messages of a conversation its present sequence holds: all of them, until a strategy begins anew.

    messages   0 user | 1 assistant, 2 tool, 3 assistant, 4 tool | 5 memory | 6 assistant
    notes      {"anew": [{"read": [0, 5], "then": 6}]}              the second sequence holds 0, 5 and all from 6 on

The notes of a trajectory say it (JSON), one entry a new sequence, so that a fork and `continued` know it too.
Idea: a play may show its policy less than was said, and the record still has to say what it was shown.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.core.records import Message
from handaxe.ops.rewindable import NEW_SEQUENCE_NOTE

__all__ = ["Following", "GO_ON", "begun_after", "history", "note_anew"]


class Following(NamedTuple):
    """What a strategy does between an answer and the next turn: `said`, messages with a `name` that it adds to the
    answer; `anew`, what the next turn reads in the place of all that there was (see `Play.anew`), or None to go on."""

    said: tuple[Message, ...] = ()
    anew: tuple[Message, ...] | None = None


GO_ON = Following()


def history(messages: Sequence[Message], notes: Mapping[str, Any]) -> list[Message]:
    """The messages of the present sequence, in order.

    Example:
        of the drawing above: messages 0, 5 and 6
    """
    if not notes.get(NEW_SEQUENCE_NOTE):
        return list(messages)
    last = notes[NEW_SEQUENCE_NOTE][-1]
    return [*(messages[i] for i in last["read"]), *messages[last["then"] :]]


def note_anew(messages: Sequence[Message], notes: dict[str, Any], read: Sequence[Message]) -> None:
    """Note that a new sequence begins now with `read`, each of which is among the messages."""
    places = [messages.index(message) for message in read]
    notes[NEW_SEQUENCE_NOTE] = [*notes.get(NEW_SEQUENCE_NOTE, []), {"read": places, "then": len(messages)}]


def begun_after(notes: Mapping[str, Any], stop: int) -> bool:
    """Whether the present sequence was begun with more than the first `stop` messages there."""
    return bool(notes.get(NEW_SEQUENCE_NOTE)) and notes[NEW_SEQUENCE_NOTE][-1]["then"] > stop
