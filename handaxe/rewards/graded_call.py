"""Rewards calls by how close they come to the reference calls: names, parameters, values."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal

from handaxe.records import Task, ToolCall, Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.reference import gold_calls
from handaxe.slots import Reward

__all__ = ["graded_call"]

Grade = Literal["fine", "refined", "intermediate", "coarse"]


def graded_call(
    *,
    grade: Grade = "fine",
    scale: float = 3.0,
    gold: Callable[[Task], Sequence[ToolCall]] = gold_calls,
) -> Reward:
    """Grade the calls of a trajectory against the reference calls, from -scale (nothing right) to scale (equal).

        P, Q        reference and predicted calls, in order;  cnt counts in a list
        match(a, b) = 1 if a == b as ordered lists, 0 if one is empty, else I / (|a| + |b| - I),
                      I = sum_k min(cnt_a(k), cnt_b(k))
        score       = match(names(P), names(Q)) + sum over g in P, in order, of its best s
        s(g, p)     = match(keys(g), keys(p)) + #{k in g : k in p and p[k] == g[k]}
                      over the unused p of Q with g's name; the best, if s > 0, is used up; the first of equals wins
        S_max       = 1 + sum_{g in P} (1 + |g|)
        R_i         = scale if Q == P, else 2 * scale * score / S_max - scale

    R_i = -scale when a call was malformed or Q is empty, and 0 when P is empty. Only calls count, not their replies.

    Args:
        grade: "fine" as above. "refined": match is all or nothing (1 if a == b else 0). "intermediate": s = 1 for an
            equal call, else 0, and S_max = 1 + |P|. "coarse": -scale for anything but Q == P.
        scale: 3 in the paper; 1 is its CORRECTMAX1 variant.
        gold: the reference calls of a task; () for a task that wants none.

    The paper's whole reward and its schedules are sums made elsewhere, with format = tags_in_order:
        weighted({"format": (1.0, format), "call": (1.0, graded_call())})                                  plain
        ... "thought": (1.0, thought_length())                                                             length
        weighted({"format": (two_stage(1.0, 0.5, at=30), format), "call": (two_stage(1/3, 1.0, at=30), graded_call())})
        weighted({"format": (ramp(2, 1, steps=150), format), "call": (ramp(2/3, 1, steps=150), graded_call())})

    Returns:
        A reward with outcome [G] in [-scale, scale].

    Raises:
        TaskError: the task has no list of reference calls.

    Example:
        reference A(x=1, y=2), predicted A(x=1, z=9): names 1, keys 1/3, values 1, so score 2.3333 of S_max 4
        and R = 6 * 0.58333 - 3 = 0.5. Equal -> 3. No call -> -3. B(x=1, y=2) -> -3.

    Paper: arXiv:2504.13958 (ToolRL), R_correct.
    Differs: nothing in the arithmetic. Calls are read by the chat format instead of from tags in the text, and calls
    of all turns count, where the paper has one turn.
    """

    def score(trajectory: Trajectory) -> float:
        wanted, made = gold(trajectory.task), trajectory.calls
        if not wanted:
            return 0.0
        if not made or any(turn.parsed.errors for turn in trajectory.turns):
            return -scale
        if _plain(wanted) == _plain(made):
            return scale
        if grade == "coarse":
            return -scale
        points, best = _points(wanted, made, grade)
        return 2 * scale * points / best - scale

    return outcome(score)


def _plain(calls: Sequence[ToolCall]) -> list[tuple[str, dict]]:
    """The calls without their ids, which say nothing about what was called."""
    return [(call.name, dict(call.arguments)) for call in calls]


def _match(a: list[str], b: list[str], *, refined: bool) -> float:
    if a == b:
        return 1.0
    if refined or not a or not b:
        return 0.0
    shared = sum((Counter(a) & Counter(b)).values())
    return shared / (len(a) + len(b) - shared)


def _points(wanted: Sequence[ToolCall], made: Sequence[ToolCall], grade: Grade) -> tuple[float, float]:
    """The points that the calls made earn, and the most that could be earned."""
    refined = grade == "refined"
    points, most = _match([g.name for g in wanted], [p.name for p in made], refined=refined), 1.0
    unused = list(made)
    for g in wanted:
        most += 1.0 if grade == "intermediate" else 1.0 + len(g.arguments)
        scored = [(_similar(g, p, grade), k) for k, p in enumerate(unused) if p.name == g.name]
        best, first = max(scored, key=lambda pair: (pair[0], -pair[1]), default=(0.0, -1))
        if best > 0:
            points += best
            del unused[first]
    return points, most


def _similar(g: ToolCall, p: ToolCall, grade: Grade) -> float:
    if grade == "intermediate":
        return float(_plain([g]) == _plain([p]))
    same = sum(key in p.arguments and p.arguments[key] == value for key, value in g.arguments.items())
    return _match(list(g.arguments), list(p.arguments), refined=grade == "refined") + same
