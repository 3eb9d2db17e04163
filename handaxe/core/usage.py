"""Resources of a rollout."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from handaxe.core.images import Image
    from handaxe.core.records import Turn

__all__ = ["Usage"]


class Usage(NamedTuple):
    """Resources of a rollout.

    tokens        sampled by the policy
    calls         of tools
    seconds       of sampling and tools
    cost          of sampling and tools
    images        of tool results; an image of two results counts twice
    image_tokens  of these images, as the policy reads them
    """

    tokens: int = 0
    calls: int = 0
    seconds: float = 0.0
    cost: float = 0.0
    images: int = 0
    image_tokens: int = 0

    @classmethod
    def of(cls, turns: Iterable[Turn], count: Callable[[Image], int] | None = None) -> Usage:
        """Sum over turns and their replies. `count` gives the tokens of an image; None: image_tokens is 0."""
        usage = cls()
        for turn in turns:
            usage = usage.plus_turn(turn, count)
        return usage

    def plus_turn(self, turn: Turn, count: Callable[[Image], int] | None = None) -> Usage:
        """Add a turn and its replies; `count` as in `of`."""
        images = [image for reply in turn.replies for image in reply.images]
        return Usage(
            self.tokens + turn.stop - turn.start,
            self.calls + len(turn.parsed.calls),
            self.seconds + turn.seconds + sum(reply.seconds for reply in turn.replies),
            self.cost + turn.cost + sum(reply.cost for reply in turn.replies),
            self.images + len(images),
            self.image_tokens + (0 if count is None else sum(map(count, images))),
        )

    def plus(self, other: Usage) -> Usage:
        """Add another usage."""
        return Usage(
            self.tokens + other.tokens,
            self.calls + other.calls,
            self.seconds + other.seconds,
            self.cost + other.cost,
            self.images + other.images,
            self.image_tokens + other.image_tokens,
        )

    def minus(self, other: Usage) -> Usage:
        """Subtract another usage."""
        less = (-other.tokens, -other.calls, -other.seconds, -other.cost, -other.images, -other.image_tokens)
        return self.plus(Usage(*less))

    def numbers(self) -> list[float]:
        """Numbers for a record; without images the first four, as before images were counted."""
        return list(self if self.images or self.image_tokens else self[:4])
