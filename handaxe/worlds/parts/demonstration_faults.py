"""Faults of an expert's demonstrations: calls without a result, and wrong answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handaxe.core.records import Group, Trajectory
from handaxe.rewards.parts.scoring import score_group
from handaxe.worlds.world import World

__all__ = ["demonstration_faults"]

WITHOUT_RESULT = ("invalid", "failed", "timeout", "infra_error")
LONGEST = 200
"""Characters of a reply in a sentence."""


def demonstration_faults(world: World, demonstrations: Sequence[Trajectory]) -> list[str]:
    """Return a sentence for each kind of fault, with the number of demonstrations and the first case.

        calls     a reply has the status invalid, failed, timeout or infra_error (retry is no fault)
        answers   correctness is below 1; a demonstration without a score counts as right

    Args:
        world: with the correctness rule.
        demonstrations: of the world's expert.

    Example:
        demonstration_faults(world, played)
        -> ["in 64 of 64 demonstrations a call of the expert has no result; the first: there is no tool 'sql'"]
    """
    found, total = [], len(demonstrations)
    failing = [(one, bad) for one in demonstrations if (bad := [r for r in one.replies if r.status in WITHOUT_RESULT])]
    if failing:
        reply = failing[0][1][0].content
        found.append(
            f"in {len(failing)} of {total} demonstrations a call of the expert has no result; the first, of task "
            f"{failing[0][0].task.id!r}: {reply if len(reply) <= LONGEST else f'{reply[:LONGEST]}...'}"
        )
    wrong = [one for one in demonstrations if _is_wrong(world, one)]
    if wrong:
        found.append(
            f"the expert is wrong in {len(wrong)} of {total} demonstrations; the first, of task {wrong[0].task.id!r}, "
            f"ends with {wrong[0].final_text[:LONGEST]!r}, and the answer is {str(wrong[0].task.answer)[:LONGEST]!r}"
        )
    return found


def _is_wrong(world: World, one: Trajectory) -> bool:
    """True for a correctness below 1; False for a demonstration without a score."""
    _, scores = score_group(world.correct, Group(one.task, (one,)))
    return bool(np.any(scores.outcome < 1))
