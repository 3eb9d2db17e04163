"""Higher thresholds for Python's garbage collector while thousands of plans write permanent records."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["fewer_collections"]

YOUNG = 50_000
MIDDLE = OLD = 20
EACH = 50
"""Approximate number of objects per live rollout; one collection per this many new objects is worth its cost."""


@contextmanager
def fewer_collections(live: int) -> Iterator[None]:
    """Raise the thresholds of automatic collection while `live` rollouts are live: a context manager.

    The first becomes 50 objects per live rollout and at least 50,000, the others 20; higher values stay, and a disabled
    collector stays disabled. With ten thousand live rollouts the default of 700 objects costs about as much as all the
    rest of a turn of `linear`, although the many records contain no garbage.

    Idea: a collection walks all live objects, so it pays only after an equal number of new ones.

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
