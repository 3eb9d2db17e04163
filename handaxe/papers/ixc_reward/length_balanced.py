"""Drops preference pairs whose chosen side is much longer."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.core.records import Message
from handaxe.judges.viewed import PreferredMessage

__all__ = ["length_balanced"]


def length_balanced(
    pairs: Sequence[PreferredMessage], *, shown: Sequence[PreferredMessage] | None = None, most: float = 1.5
) -> list[PreferredMessage]:
    """Keep the pairs whose chosen side is at most `most` times as long as the rejected side.

        kept_p = len(chosen_p) <= most * len(rejected_p)        lengths of the last lines, the answers, in characters

    Args:
        pairs: P pairs, whose texts are measured; the last line is the answer.
        shown: P pairs that are returned instead, such as the same answers as images; None for `pairs`.
        most: ratio, >= 1; infinity keeps all.

    Returns:
        The kept pairs, in order.

    Raises:
        InputError: a ratio below 1, or other numbers of pairs.

    Example:
        lengths (30, 30), (45, 30), (46, 30) and (30, 90) with most 1.5: the third is dropped

    Paper: IXC-2.5-Reward, a bound on the length of chosen responses, since reward models prefer long ones.
    Unconfirmed: the ratio and the unit of length.
    Differs: nothing known.
    """
    given = pairs if shown is None else shown
    if not most >= 1 or len(given) != len(pairs):
        raise InputError(f"give a ratio from 1 and equal numbers of pairs: {most}, {len(pairs)} and {len(given)}")
    return [
        other for pair, other in zip(pairs, given, strict=True) if _length(pair.chosen) <= most * _length(pair.rejected)
    ]


def _length(message: Message) -> int:
    return len(message.content.rpartition("\n")[2])
