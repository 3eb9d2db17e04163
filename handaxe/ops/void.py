"""When a turn did nothing: one answer for what ends at it and for what leaves it out."""

from collections.abc import Callable

from handaxe.core.records import Turn

__all__ = ["is_void"]


def is_void(turn: Turn, *, answer: Callable[[Turn], bool]) -> bool:
    r"""Whether a turn holds neither a well-formed call nor a final answer.

    Args:
        turn: of a policy.
        answer: whether a turn gives a final answer.

    Example:
        where "\boxed{" makes an answer: "let me think" is void; a complete call and "\boxed{3}" are not
    """
    return not turn.parsed.calls and not answer(turn)
