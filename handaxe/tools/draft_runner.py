"""Runs of a made tool's source in the embedded sandbox."""

from __future__ import annotations

import ast
import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.core.errors import InputError, Retry
from handaxe.tools.python import python

__all__ = ["DraftResult", "run_draft"]

REMEMBERED = 50_000
"""Requests whose results are kept: the same tool meets the same arguments again."""
MOST_TEXT = 1_000_000
MOST_ERROR = 200
DRIVER = """

def _answer_calls(function, calls):
    import json

    def answer(arguments):
        try:
            return {{"value": json.loads(json.dumps(function(**arguments)))}}
        except Exception as error:
            return {{"error": (type(error).__name__ + ": " + str(error))[:{most}]}}

    return json.dumps([answer(arguments) for arguments in json.loads(calls)])


_answer_calls({name}, {calls!r})
"""


class DraftResult(NamedTuple):
    """Result of a call. value: JSON, None for an error. error: the exception or the limit; "" for none."""

    value: Any
    error: str = ""


def run_draft(
    source: str, name: str, calls: Sequence[Mapping[str, Any]], *, seconds: float = 30.0
) -> tuple[DraftResult, ...]:
    """Call a function of an untrusted source in a new session of the embedded sandbox, `handaxe.tools.python`.

    The interpreter has a subset of Python: a source beyond the subset fails with the interpreter's message. Equal
    requests of a process share results: a source should be a function of its arguments.

    Args:
        source: the program.
        name: of the function.
        calls: keyword arguments of each call, JSON.
        seconds: wall time of source and calls together, > 0; far above what a tool needs, since a busy machine counts.

    Returns:
        One result a call. All calls fail if the source fails or runs into a limit.

    Raises:
        InputError: the name is no name of a function, or the arguments are not JSON.
        InfrastructureError: the sandbox ended.

    Example:
        run_draft("def f(n): return n + 1", "f", [{"n": 2}]) == (DraftResult(3),)

    Idea: expected values are compared outside, so that a source cannot copy them.
    """
    if not name.isidentifier():
        raise InputError(f"{name[:80]!r} is no name of a function")
    try:
        given = json.dumps([dict(one) for one in calls], allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"the arguments of {name!r} are no JSON: {error}") from error
    return _remembered(source, name, given, len(calls), seconds)


@functools.lru_cache(maxsize=REMEMBERED)
def _remembered(source: str, name: str, calls: str, count: int, seconds: float) -> tuple[DraftResult, ...]:
    run = python(seconds=seconds, max_chars=MOST_TEXT)
    try:
        text = run(source + DRIVER.format(most=MOST_ERROR, name=name, calls=calls))
    except Retry as error:
        return (DraftResult(None, _last_line(str(error))),) * count
    return _checked(text, count)


def _checked(text: str, count: int) -> tuple[DraftResult, ...]:
    """Results of a reply; a source can replace the functions that write it, so that the form is checked."""
    try:
        found = json.loads(ast.literal_eval(text.rpartition("\n")[2]), parse_constant=_refuse)
    except (SyntaxError, ValueError, TypeError, RecursionError):
        found = None
    if not isinstance(found, list) or len(found) != count or not all(isinstance(one, dict) for one in found):
        return (DraftResult(None, "the source does not return JSON"),) * count
    return tuple(
        DraftResult(one["value"]) if "value" in one else DraftResult(None, str(one.get("error", "no value")))
        for one in found
    )


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _last_line(text: str) -> str:
    """The line with the exception."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("The session is")]
    return (lines[-1] if lines else "the source failed")[:MOST_ERROR]
