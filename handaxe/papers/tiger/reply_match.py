"""Reward for the last tool reply, independent of the answer."""

from collections.abc import Callable, Sequence
from math import isfinite

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Task, Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.reference import gold_answers

__all__ = ["reply_match"]

LONGEST = 100
"""Limit on the characters of a reply that is read as a number."""


def reply_match(
    *, tools: Sequence[str], gold: Callable[[Task], Sequence[str]] = gold_answers, rel_tol: float = 0.0
) -> Reward:
    """Score 1 if the last successful reply of the named tools is a reference value, else 0.

        r_i = content of the last reply with status "ok" of a tool in `tools`
        R_i = 1 if r_i = g as text, or both are numbers and |r_i - g| <= rel_tol |g|, for a reference g, else 0

    Text is compared without surrounding white space. Later replies of other tools, and failed ones, have no effect.

    Args:
        tools: names of tools whose replies are read, such as those that execute code.
        gold: task -> reference values, of which any is correct.
        rel_tol: relative tolerance, 0 or more; 0.01 to 0.05 for TIGeR.

    Returns:
        A reward with outcome [G] of 0 and 1. No such reply: 0.

    Raises:
        InputError: no tools, or a negative tolerance.
        TaskError: a task without a reference.

    Example:
        answer "132", tools ("calculator",): reply "132" -> 1; "131" -> 0, with rel_tol 0.01 -> 1; "130.0" and then a
        failure, with rel_tol 0.01 -> 0; no call -> 0

    Paper: arXiv:2510.07181 (TIGeR), the part of its reward for code that performs the reference computation.
    Unconfirmed: that code is compared by its result; only the paper's description of this part is known.
    Differs: nothing known.
    """
    if not tools or isinstance(tools, str) or not rel_tol >= 0:
        raise InputError(f"reply_match takes names of tools and a tolerance of 0 or more, not {tools!r} and {rel_tol}")
    named = frozenset(tools)

    def score(trajectory: Trajectory) -> float:
        golds = [one.strip() for one in gold(trajectory.task)]
        replies = [reply.content for reply in trajectory.replies if reply.status == "ok" and reply.name in named]
        return float(bool(replies) and any(_same(replies[-1].strip(), one, rel_tol) for one in golds))

    return outcome(score)


def _same(text: str, gold: str, rel_tol: float) -> bool:
    if text == gold:
        return True
    left, right = _number(text), _number(gold)
    return left is not None and right is not None and abs(left - right) <= rel_tol * abs(right)


def _number(text: str) -> float | None:
    if len(text) > LONGEST:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None
