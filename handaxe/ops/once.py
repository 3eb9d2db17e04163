"""A value that is made when it is first needed."""

import threading
from collections.abc import Callable
from typing import TypeVar

__all__ = ["once"]

T = TypeVar("T")


def once(make: Callable[[], T]) -> Callable[[], T]:
    """Make a value in the first call, and return the same value in every call.

    Concurrent calls wait for the first one. A call that raises makes nothing, and the next one tries again.

    Args:
        make: makes the value, such as a fitted judge.

    Example:
        judge = once(lambda: fit_judge(labels)): judge() fits it, and judge() is the same object

    Idea: rollouts are scored in several threads, and `functools.cache` would fit a judge in each.
    """
    lock = threading.Lock()
    made: list[T] = []

    def value() -> T:
        with lock:
            if not made:
                made.append(make())
        return made[0]

    return value
