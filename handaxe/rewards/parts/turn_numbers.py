"""Numbers of a rollout before the first turn and after each turn."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.records import Trajectory
from handaxe.rewards.parts.checks import is_number

__all__ = ["ABSENT", "common_names", "seen_values", "turn_numbers"]

ABSENT = -1.0
"""Value of a number that the environment reports after some turns alone."""
HIDDEN = ("reward", "progress", "success", "won", "done", "score")
"""Facts of the environment that state the result, and are left out."""
NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
COUNTS = ("turn", "calls", "ok", "failed", "tokens")


def turn_numbers(trajectory: Trajectory) -> list[dict[str, float]]:
    """Collect counts so far and the numbers of the environment's facts; no text, so no text can steer a program.

        turn, calls, ok, failed, tokens    turns, well-formed calls, replies with status ok, other replies, sampled ids
        NAME, NAME_0, NAME_0_1, ...        numbers and truth values in `Turn.facts`, lists by index

    Facts that state the result (reward, progress, success, won, done, score), or have no name as in Python, are left
    out. Counts are 0 before the first turn. The environment reports no facts there, so that its numbers are those after
    the first turn. A number that is missing after a turn is -1.

    Args:
        trajectory: rollout of N turns.

    Returns:
        N + 1 mappings with equal names; one mapping of counts for a rollout without turns.

    Example:
        one turn with a call that failed, 3 sampled ids and facts {"at": [2, 5], "won": False}
        -> {turn 0, calls 0, ok 0, failed 0, tokens 0, at_0 2, at_1 5}, {turn 1, calls 1, ok 0, failed 1, tokens 3, ...}

    Idea: reward programs of arXiv:2310.12931 (Eureka) read the environment's variables before and after a step.
    """
    counts = dict.fromkeys(COUNTS, 0.0)
    rows = [dict(counts)]
    reported: list[dict[str, float]] = []
    for turn in trajectory.turns:
        counts["turn"] += 1
        counts["calls"] += len(turn.parsed.calls)
        counts["ok"] += sum(reply.status == "ok" for reply in turn.replies)
        counts["failed"] += sum(reply.status != "ok" for reply in turn.replies)
        counts["tokens"] += turn.stop - turn.start
        rows.append(dict(counts))
        reported.append(_flat(turn.facts))
    names = sorted({name for one in reported for name in one} - set(COUNTS))
    after = [reported[0], *reported] if reported else [{}]
    return [
        {**row, **{name: facts.get(name, ABSENT) for name in names}} for row, facts in zip(rows, after, strict=True)
    ]


def common_names(rollouts: Sequence[Trajectory]) -> tuple[str, ...]:
    """Find the names of the numbers of every rollout, sorted.

    Example:
        rollouts with facts {"at": [1]} and {"at": [1, 2]} -> at_0, calls, failed, ok, tokens, turn
    """
    found = [set(turn_numbers(one)[0]) for one in rollouts if one.turns]
    return tuple(sorted(set.intersection(*found))) if found else COUNTS


def seen_values(rollouts: Sequence[Trajectory]) -> dict[str, tuple[float, ...]]:
    """Collect the distinct values of each number, in ascending order.

    Example:
        rollouts with facts {"at": [1]} after a turn and {"at": [4]} after another -> at_0 (1, 4), turn (0, 1), ...
    """
    found: dict[str, set[float]] = {}
    for one in rollouts:
        for row in turn_numbers(one):
            for name, value in row.items():
                found.setdefault(name, set()).add(value)
    return {name: tuple(sorted(values)) for name, values in found.items()}


def _flat(facts: Mapping[str, Any]) -> dict[str, float]:
    out: dict[str, float] = {}
    pending = [(name, value) for name, value in facts.items() if name not in HIDDEN and NAME.fullmatch(name)]
    while pending:
        name, value = pending.pop()
        if isinstance(value, bool) or is_number(value):
            out[name] = float(value)
        elif isinstance(value, list | tuple):
            pending += [(f"{name}_{k}", one) for k, one in enumerate(value)]
    return out
