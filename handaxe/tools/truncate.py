"""Truncation of long text, with or without images."""

import unicodedata
from collections.abc import Sequence
from typing import Literal

from handaxe.core.errors import InputError
from handaxe.core.images import Image, join_images, split_images

__all__ = ["Drop", "truncate", "truncate_content"]

Drop = Literal["head", "middle", "tail"]
JOINER = "\u200d"
LOOK_BACK = 16


def truncate(text: str, *, limit: int, drop: Drop = "middle") -> str:
    """Cut `text` to at most `limit` characters, marker included.

    The cut never separates the halves of a surrogate pair, nor a base character from the combining marks, variation
    selectors and joiners after it. It moves by at most 16 such characters, so that a long run of them cannot consume
    the whole text.

    Args:
        text: any text.
        limit: most characters of the result, >= 0. Characters, not tokens: a tool does not know the tokenizer.
        drop: part to cut: the head, the middle or the tail.

    Returns:
        `text` itself if it fits. Else the remaining parts around `[... 123 characters cut ...]`, with the exact number;
        if `limit` is shorter than the marker, the first `limit` characters of "...".

    Raises:
        InputError: `limit` is negative.

    Example:
        truncate("a" * 50 + "b" * 50, limit=40) is "aaaaaa[... 88 characters cut ...]bbbbbb" (39 characters).
    """
    if limit < 0:
        raise InputError(f"limit is {limit} characters; give 0 or more")
    if len(text) <= limit:
        return text
    room = limit - len(_marker(len(text)))
    if room < 0:
        return "..."[:limit]
    head = {"head": 0, "middle": room - room // 2, "tail": room}[drop]
    start = _step_back(text, head)
    stop = _step_on(text, len(text) - (room - head))
    return text[:start] + _marker(stop - start) + text[stop:]


def truncate_content(
    text: str, images: Sequence[Image], *, limit: int, max_images: int, drop: Drop = "middle"
) -> tuple[str, tuple[Image, ...]]:
    """Cut a text with images; a placeholder and its image stay together.

    The texts between images share the limit: short texts stay whole, and longer ones are cut to one length by
    `truncate`. Images beyond `max_images` are left out and counted in words at the end.

    Args:
        text: with one placeholder for each image.
        images: beside the text, in order.
        limit: most characters of the result, placeholders not counted, >= 0.
        max_images: most images, >= 0.
        drop: part to cut of each long text.

    Returns:
        The text and the images.

    Raises:
        InputError: a negative limit, or other numbers of placeholders and images.

    Example:
        "a" * 50 + PLACEHOLDER + "bb" with limit=40 is "aaaaaa[... 39 characters cut ...]aaaaa" + PLACEHOLDER
        + "bb"
    """
    if not images:
        return truncate(text, limit=limit, drop=drop), ()
    left_out = len(images) - max_images
    note = f"[{left_out} further image{'s' if left_out > 1 else ''} left out]"[:limit] if left_out > 0 else ""
    first = iter(images[:max_images])
    parts = [part for part in split_images(text, images) if isinstance(part, str) or next(first, None) is not None]
    most = _share([len(part) for part in parts if isinstance(part, str)], limit - len(note))
    cut = [truncate(part, limit=most, drop=drop) if isinstance(part, str) else part for part in parts]
    return join_images(*cut, note)


def _share(lengths: Sequence[int], limit: int) -> int:
    """Largest common bound on the lengths that keeps their sum within the limit."""
    left = limit
    for rank, length in enumerate(sorted(lengths)):
        share = left // (len(lengths) - rank)
        if length > share:
            return share
        left -= length
    return limit


def _marker(count: int) -> str:
    return f"[... {count} characters cut ...]"


def _joined(text: str, place: int) -> bool:
    """Test whether the character at `place` belongs to the character before."""
    if not 0 < place < len(text):
        return False
    before, after = text[place - 1], text[place]
    pair = "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"
    return pair or JOINER in (before, after) or unicodedata.category(after) in ("Mn", "Mc", "Me")


def _step_back(text: str, place: int) -> int:
    for step in range(min(LOOK_BACK, place) + 1):
        if not _joined(text, place - step):
            return place - step
    return place - 1 if "\udc00" <= text[place] <= "\udfff" else place


def _step_on(text: str, place: int) -> int:
    for step in range(min(LOOK_BACK, len(text) - place) + 1):
        if not _joined(text, place + step):
            return place + step
    return place + 1 if "\udc00" <= text[place] <= "\udfff" else place
