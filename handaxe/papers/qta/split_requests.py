"""Turns of users of bfcl-eval that need two or three tools, with the raw ranking."""

from __future__ import annotations

import functools
from typing import NamedTuple

from handaxe.ops.ranking import sufficiency_at
from handaxe.ops.seeds import derive_seed
from handaxe.papers.qta.tool_index import tool_index
from handaxe.worlds.bfcl.tasks import all_tasks
from handaxe.worlds.world import Split

__all__ = ["MOST_TOOLS", "PLACES", "ToolRequest", "split_requests"]

PLACES = 5
"""k of correctness."""
LONGEST = 300
"""Character limit of a request, for a context of 512 bytes."""
LEAST_TOOLS = 2
MOST_TOOLS = 3
SHOWN = 2
"""Tools in the prompt."""


class ToolRequest(NamedTuple):
    """Turn of a user, its needed tools, and the tools that the retriever ranks first for it.

    raw: S@5 of the request itself.
    """

    id: str
    text: str
    needed: tuple[str, ...]
    first: tuple[str, ...]
    raw: float


@functools.lru_cache(maxsize=2)
def split_requests(split: Split) -> tuple[ToolRequest, ...]:
    """Requests of a split that need two or three tools and that the names of these tools make sufficient.

    Turns of several messages, repeated texts, turns above 300 characters and turns without a common word with any tool
    are left out, and of train those that show the same tools as a turn of test.

    Args:
        split: train or test.

    Returns:
        Requests in the package's order.

    Example:
        a request for a start of the engine has needed ("pressBrakePedal", "startEngine"), and raw 0 if the pedal is not
        among the first five tools

    Paper: arXiv:2410.03212 (QTA), MTRB: requests with several needed tools.
    Differs: other requests and tools; MTRB is not packaged.
    """
    known = tool_index()
    shown = {one.first for one in split_requests("test")} if split == "train" else set()
    found: dict[str, ToolRequest] = {}
    for task in all_tasks("multi_turn_base"):
        if (derive_seed("tool queries split", task.id) % 2 == 0) != (split == "test"):
            continue
        said = [[one.content for one in task.messages], *task.metadata["later"]]
        for turn, (texts, calls) in enumerate(zip(said, task.metadata["gold"], strict=True)):
            needed = tuple(sorted({call["name"] for call in calls}))
            if len(texts) == 1 and len(texts[0]) <= LONGEST and LEAST_TOOLS <= len(needed) <= MOST_TOOLS:
                ranking = known.rank(texts[0])
                helped = known.rank(f"{texts[0]} {known.spell(needed, brief=False)}")
                if ranking and ranking[:SHOWN] not in shown and sufficiency_at(helped, needed, PLACES):
                    raw = sufficiency_at(ranking, needed, PLACES)
                    found.setdefault(texts[0], ToolRequest(f"{task.id}-{turn}", texts[0], needed, ranking[:SHOWN], raw))
    return tuple(found.values())
