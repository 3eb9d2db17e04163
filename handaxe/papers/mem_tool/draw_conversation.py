"""Conversations of consecutive requests of a user."""

from __future__ import annotations

import random

from handaxe.ops.seeds import derive_seed
from handaxe.worlds.toolbox.labelled_requests import LabelledRequest, labelled_requests

__all__ = ["draw_conversation"]


def draw_conversation(turns: int, *, several: float, seed: int) -> list[LabelledRequest]:
    """Draw different requests of the test split in random order.

    Args:
        turns: number of requests; fewer if the split has fewer.
        several: share of requests with several needed tools.
        seed: of choice and order.

    Example:
        turns 10, several 0.4: four requests with several needed tools and six with one

    Paper: arXiv:2507.21428 (MemTool), 100 consecutive requests.
    Differs: requests of BFCL.
    """
    requests = list(labelled_requests("test"))
    random.Random(derive_seed("conversation", seed)).shuffle(requests)
    many = round(several * turns)
    chosen = [one for one in requests if len(one.needed) > 1][:many]
    chosen += [one for one in requests if len(one.needed) == 1][: turns - len(chosen)]
    random.Random(derive_seed("order of the conversation", seed)).shuffle(chosen)
    return chosen
