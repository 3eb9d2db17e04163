"""Test for empty turns, shared by `stop_on_empty_turn` and `mask_empty_turns`."""

from collections.abc import Callable

from handaxe.core.records import Turn

__all__ = ["is_empty_turn"]


def is_empty_turn(turn: Turn, *, answer: Callable[[Turn], bool]) -> bool:
    r"""Test whether a turn contains neither a well-formed call nor a final answer.

    Args:
        turn: of a policy.
        answer: predicate that is True for a turn with a final answer.

    Example:
        with "\boxed{" as the sign of an answer, "let me think" is empty; a complete call and "\boxed{3}" are not
    """
    return not turn.parsed.calls and not answer(turn)
