"""Steps, rollouts and ids on command lines: counted from 1, and ids by a unique prefix.

Files for programs (--json, JSON lines, ids of trajectories) count from 0.
"""

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path

from handaxe.core.errors import InputError
from handaxe.core.escape import escape

__all__ = ["find_id", "find_step"]

LISTED = 8
"""Limit of listed candidates."""


def find_step(step: int, steps: Sequence[int], folder: Path) -> int:
    """Convert a step of a command line to a recorded step.

    Args:
        step: counted from 1.
        steps: recorded steps, from 0.
        folder: shown in the error.

    Raises:
        InputError: there is no such step; the message has the first and the last.

    Example:
        find_step(3, [0, 1, 2], folder) -> 2
    """
    if step - 1 not in steps:
        known = f"it has steps {steps[0] + 1} to {steps[-1] + 1}" if steps else "it has no step yet"
        raise InputError(f"there is no step {step} in {folder}; {known}")
    return step - 1


def find_id(given: str, ids: Iterable[str], *, noun: str, place: str) -> str:
    """Find an id by its whole text or by a unique start.

    Args:
        given: an id, or the start of one.
        ids: existing ids.
        noun, place: for the error, such as "task" and "in this step".

    Raises:
        InputError: no id, or several, start with `given`; the message lists candidates.

    Example:
        find_id("ea", ["easy", "hard"], noun="task", place="in this step") -> "easy"
    """
    known = list(dict.fromkeys(ids))
    starting = [one for one in known if one.startswith(given)]
    if given in known or len(starting) == 1:
        return given if given in known else starting[0]
    if starting:
        raise InputError(f"{given!r} is the start of {len(starting)} {noun} ids {place}: {_listed(starting)}")
    close = difflib.get_close_matches(given, known, n=LISTED, cutoff=0.4)
    raise InputError(f"there is no {noun} {given!r} {place}; there are {_listed(close or known)}")


def _listed(ids: Sequence[str]) -> str:
    more = [f"and {len(ids) - LISTED} more"] if len(ids) > LISTED else []
    return ", ".join([*map(escape, ids[:LISTED]), *more])
