"""Where in a conversation the policy's turns stand, and what there was before the first of them."""

from collections.abc import Sequence

from handaxe.core.records import Message

__all__ = ["opening", "spoken_at"]


def spoken_at(messages: Sequence[Message], *, turns: int) -> list[int]:
    """Where each of so many turns of the policy stands; what an opening has of assistants comes before.

    Args:
        messages: of an attempt; its last turns are those that are found where some are left out of it.
        turns: of the policy.

    Example:
        user, assistant (shown), user, assistant, tool, assistant; 2 turns  ->  3, 5
    """
    places = [place for place, message in enumerate(messages) if message.role == "assistant"]
    return places[max(len(places) - turns, 0) :]


def opening(messages: Sequence[Message], *, turns: int) -> list[Message]:
    """What the environment said before the first of so many turns; demonstrations in it are kept.

    Example:
        user, assistant (shown), user, assistant, tool, assistant; 2 turns  ->  the first three
    """
    return list(messages[: [*spoken_at(messages, turns=turns), len(messages)][0]])
