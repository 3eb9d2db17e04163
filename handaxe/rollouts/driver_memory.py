"""Lets Python's garbage collector look less often while thousands of plans write records that all stay."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["fewer_collections"]

YOUNG, MIDDLE, OLD = 50_000, 20, 20


@contextmanager
def fewer_collections() -> Iterator[None]:
    """Raise the thresholds of automatic collection to at least (50,000, 20, 20) objects, for as long as it lasts.

    With ten thousand live rollouts the usual thresholds, 700 objects, cost more than everything else that the driver
    does: records are made by the thousand and none of them is garbage. What was switched off stays off.
    """
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(max(before[0], YOUNG), max(before[1], MIDDLE), max(before[2], OLD))
    try:
        yield
    finally:
        gc.set_threshold(*before)
