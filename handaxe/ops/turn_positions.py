"""Positions of the policy's turns in a conversation, and the messages before the first turn."""

from collections.abc import Sequence

from handaxe.core.records import Message

__all__ = ["initial_messages", "turn_positions"]


def turn_positions(messages: Sequence[Message], *, turns: int) -> list[int]:
    """Find the positions of the policy's turns among the messages, in order.

    Assistant messages of the task's opening are demonstrations and are skipped: the last `turns` assistant messages
    count.

    Args:
        messages: conversation of a trajectory. If the messages omit turns, the last turns are found.
        turns: number of turns of the policy.

    Example:
        user, assistant (demonstration), user, assistant, tool, assistant; 2 turns  ->  3, 5
    """
    positions = [position for position, message in enumerate(messages) if message.role == "assistant"]
    return positions[max(len(positions) - turns, 0) :]


def initial_messages(messages: Sequence[Message], *, turns: int) -> list[Message]:
    """Return the environment's messages before the policy's first turn, demonstrations included.

    Example:
        user, assistant (demonstration), user, assistant, tool, assistant; 2 turns  ->  the first three
    """
    return list(messages[: [*turn_positions(messages, turns=turns), len(messages)][0]])
