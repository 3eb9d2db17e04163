"""Lets Python's garbage collector look less often while thousands of plans write records that all stay."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["fewer_collections"]

YOUNG = 50_000
MIDDLE = OLD = 20
EACH = 50
"""About as many objects as a live rollout has: a look is worth its price once there are as many new ones."""


@contextmanager
def fewer_collections(live: int) -> Iterator[None]:
    """Raise the thresholds of automatic collection while this many rollouts are live, for as long as it lasts.

    The first becomes 50 objects a live rollout and at least 50,000, the others 20; what is higher stays, and what was
    switched off stays off. With ten thousand live rollouts the usual 700 objects cost about as much as all the rest of
    a turn of `linear`: records are made by the thousand and none of them is garbage.

    Idea: a collection walks all that is alive, so one is worth its price only once as much is new.

    Example:
        with fewer_collections(len(attempts)): play them
    """
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(max(before[0], YOUNG, EACH * live), max(before[1], MIDDLE), max(before[2], OLD))
    try:
        yield
    finally:
        gc.set_threshold(*before)
