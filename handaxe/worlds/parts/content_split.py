"""Split of a task by its content."""

from __future__ import annotations

from handaxe.ops.seeds import derive_seed
from handaxe.worlds.world import Split

__all__ = ["content_split"]


def content_split(*content: str | int, one_in: int = 4) -> Split:
    """Return the split of a content by its digest: no content is in both splits, whatever the seed of the tasks.

    Args:
        content: name of the world, and what tells its questions apart.
        one_in: one of so many contents is in test, on average.

    Example:
        content_split("requests split", "tea") is the same on every machine
    """
    return "test" if derive_seed(*content) % one_in == 0 else "train"
