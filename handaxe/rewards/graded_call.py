"""Grades calls by similarity to the reference calls: names, parameters, values."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Task, ToolCall, Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.checks import call_score, is_number
from handaxe.rewards.parts.reference import gold_calls

__all__ = ["graded_call"]

Grade = Literal["fine", "refined", "intermediate", "coarse"]


class _Shares(NamedTuple):
    """Matched shares of the reference calls: names, keys and values."""

    names: float
    keys: float
    values: float


def graded_call(
    *,
    grade: Grade = "fine",
    scale: float = 3.0,
    gold: Callable[[Task], Sequence[ToolCall]] = gold_calls,
    rel_tol: float = 0.0,
) -> Reward:
    """Grade the calls of a trajectory against the reference calls, from -scale (all wrong) to scale (equal).

        P, Q        reference and predicted calls, in order;  cnt counts in a list
        match(a, b) = 1 if a == b as ordered lists, 0 if one is empty, else I / (|a| + |b| - I),
                      I = sum_k min(cnt_a(k), cnt_b(k))
        score       = match(names(P), names(Q)) + sum over g in P, in order, of its best s
        s(g, p)     = match(keys(g), keys(p)) + #{k in g : k in p and p[k] == g[k]}
                      over the unused p of Q with g's name; the best, if s > 0, is used up; the first of equals wins
        S_max       = 1 + sum_{g in P} (1 + |g|)
        R_i         = scale if Q == P, else 2 * scale * score / S_max - scale

    R_i = -scale if a call was malformed or Q is empty, and 0 if P is empty. Only calls count, not their replies.

    Channels hold the matched shares, each from 0 to 1, with p the call matched to g at grade "fine":
        names  = match(names(P), names(Q))
        keys   = sum over g of match(keys(g), keys(p)) / |P|
        values = sum over g of #{k in g : k in p and p[k] == g[k]} / sum over g of |g|
    all 0 if a call was malformed. Without reference calls: 1 without any call, else 0.

    Args:
        grade: "fine" as above. "refined": match is all or nothing (1 if a == b else 0). "intermediate": s = 1 for an
            equal call, else 0, and S_max = 1 + |P|. "coarse": -scale unless Q == P.
        scale: 3 in the paper; 1 is its CORRECTMAX1 variant.
        gold: the reference calls of a task; () for a task without calls.
        rel_tol: numbers a and b are equal if |a - b| <= rel_tol * |b|, b of the reference; 0 for ToolRL, 0.01 to 0.05
            for TIGeR.

    The paper's full reward and its schedules are sums, with format = tags_in_order:
        weighted({"format": (1.0, format), "call": (1.0, graded_call())})                                  plain
        ... "thought": (1.0, thought_length())                                                             length
        weighted({"format": (two_stage(1.0, 0.5, at=30), format), "call": (two_stage(1/3, 1.0, at=30), graded_call())})
        weighted({"format": (ramp(2, 1, steps=150), format), "call": (ramp(2/3, 1, steps=150), graded_call())})

    Returns:
        A reward with outcome [G] in [-scale, scale], and the channels names, keys and values.

    Raises:
        InputError: a negative rel_tol. TaskError: the task has no list of reference calls.

    Example:
        reference A(x=1, y=2), predicted A(x=1, z=9): names 1, keys 1/3, values 1, so score 2.3333 of S_max 4
        and R = 6 * 0.58333 - 3 = 0.5; names 1, keys 1/3, values 1/2. Equal -> 3. No call -> -3. B(x=1, y=2) -> -3.

    Paper: arXiv:2504.13958 (ToolRL), R_correct; the channels are names and parameters of arXiv:2510.07181 (TIGeR).
    Unconfirmed: TIGeR's shares, known from their description only.
    Differs: nothing in the arithmetic. Calls are read by the chat format, not from tags in the text, and calls of all
    turns count, where the paper has one turn.
    """
    if not rel_tol >= 0:
        raise InputError(f"rel_tol is {rel_tol}; a tolerance is 0 or more")

    def score(trajectory: Trajectory) -> float:
        wanted, made = gold(trajectory.task), trajectory.calls
        if not wanted:
            return 0.0
        if not made or _malformed(trajectory):
            return -scale
        if _equal(wanted, made, rel_tol):
            return scale
        if grade == "coarse":
            return -scale
        points, best = _points(wanted, made, grade, rel_tol)
        return 2 * scale * points / best - scale

    def shares(trajectory: Trajectory) -> _Shares:
        return _Shares(0.0, 0.0, 0.0) if _malformed(trajectory) else _shares(gold(trajectory.task), trajectory, rel_tol)

    whole = outcome(score)

    def reward(group: Group) -> Scores:
        parts = [call_score(shares, one) for one in group]
        channels = {name: np.array([getattr(one, name) for one in parts], np.float64) for name in _Shares._fields}
        return replace(whole(group), channels=channels)

    return reward


def _malformed(trajectory: Trajectory) -> bool:
    return any(turn.parsed.errors for turn in trajectory.turns)


def _equal(wanted: Sequence[ToolCall], made: Sequence[ToolCall], rel_tol: float) -> bool:
    """The calls are equal up to ids."""
    return len(wanted) == len(made) and all(_one(g, p, rel_tol) for g, p in zip(wanted, made))


def _one(g: ToolCall, p: ToolCall, rel_tol: float) -> bool:
    return g.name == p.name and len(g.arguments) == len(p.arguments) == _same_values(g, p, rel_tol)


def _same(wanted: Any, made: Any, rel_tol: float) -> bool:
    if made == wanted:
        return True
    return rel_tol > 0 and is_number(wanted) and is_number(made) and abs(made - wanted) <= rel_tol * abs(wanted)


def _same_values(g: ToolCall, p: ToolCall, rel_tol: float) -> int:
    return sum(key in p.arguments and _same(value, p.arguments[key], rel_tol) for key, value in g.arguments.items())


def _match(a: list[str], b: list[str], *, refined: bool) -> float:
    if a == b:
        return 1.0
    if refined or not a or not b:
        return 0.0
    shared = sum((Counter(a) & Counter(b)).values())
    return shared / (len(a) + len(b) - shared)


def _points(wanted: Sequence[ToolCall], made: Sequence[ToolCall], grade: Grade, rel_tol: float) -> tuple[float, float]:
    """Points of the calls, and the largest possible number of points."""
    refined = grade == "refined"
    points, most = _match([g.name for g in wanted], [p.name for p in made], refined=refined), 1.0
    for g, _, best in _paired(wanted, made, grade, rel_tol):
        most += 1.0 if grade == "intermediate" else 1.0 + len(g.arguments)
        points += best
    return points, most


def _paired(
    wanted: Sequence[ToolCall], made: Sequence[ToolCall], grade: Grade, rel_tol: float
) -> list[tuple[ToolCall, ToolCall | None, float]]:
    """Each reference call with the best match, or None, and the similarity."""
    unused, pairs = list(made), list[tuple[ToolCall, ToolCall | None, float]]()
    for g in wanted:
        scored = [(_similar(g, p, grade, rel_tol), k) for k, p in enumerate(unused) if p.name == g.name]
        best, first = max(scored, key=lambda pair: (pair[0], -pair[1]), default=(0.0, -1))
        pairs.append((g, unused.pop(first), best) if best > 0 else (g, None, 0.0))
    return pairs


def _similar(g: ToolCall, p: ToolCall, grade: Grade, rel_tol: float) -> float:
    if grade == "intermediate":
        return float(_one(g, p, rel_tol))
    return _match(list(g.arguments), list(p.arguments), refined=grade == "refined") + _same_values(g, p, rel_tol)


def _shares(wanted: Sequence[ToolCall], trajectory: Trajectory, rel_tol: float) -> _Shares:
    made = trajectory.calls
    names = _match([g.name for g in wanted], [p.name for p in made], refined=False)
    if not wanted:
        return _Shares(names, names, names)
    pairs = _paired(wanted, made, "fine", rel_tol)
    keys = sum(0.0 if p is None else _match(list(g.arguments), list(p.arguments), refined=False) for g, p, _ in pairs)
    asked = sum(len(g.arguments) for g in wanted)
    values = sum(0 if p is None else _same_values(g, p, rel_tol) for g, p, _ in pairs)
    return _Shares(names, keys / len(wanted), values / asked if asked else names)
