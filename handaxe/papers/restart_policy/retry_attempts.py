"""Repeat a task from the start until success; an alarm ends an attempt early."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Ending, Trajectory
from handaxe.core.requests import Attempt
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.play import Play, Request, Rules

__all__ = ["Alarm", "GIVEN_UP", "retry_attempts"]

Alarm = Callable[[Trajectory], bool]
"""Failure detector: reads the attempt after a turn; True predicts that it fails."""
GIVEN_UP = Ending("policy_error", "an alarm predicted a failure")
"""Ending of an attempt that an alarm interrupted."""


def retry_attempts(
    *, alarm: Alarm | None = None, succeeded: Callable[[Trajectory], bool], most: int = 8, max_turns: int | Rules = 4
) -> Rollout:
    """Play attempts at a task in sequence, until one succeeds.

        after each turn with a following turn:  end the attempt if alarm(attempt so far), and begin the next attempt

    Attempts are independent: each has an environment, an id and a seed of its own. Seeds do not depend on the alarm,
    so an interrupted attempt is the beginning of the attempt that `alarm=None` plays.

    Args:
        alarm: failure detector; None never interrupts. Its input is an unfinished trajectory.
        succeeded: reads a finished attempt, such as the report of its environment. An interrupted attempt failed.
        most: attempts at a task, >= 1.
        max_turns: turns or `Rules`, as in `linear`, of each attempt.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns the attempts, a trajectory each.

    Raises:
        InputError: most below 1, or as `linear`.

    Example:
        an alarm after turn 3, attempts that fail, fail and succeed in 12, 12 and 5 turns, alarm in the first two
        ->  3 trajectories of 3, 3 and 5 turns

    Paper: arXiv:2301.10846 (Restart policy), restart of a task at a predicted failure.
    Differs: restarts take no time of their own.
    """
    if most < 1:
        raise InputError(f"retry_attempts has most={most}; give 1 attempt or more")
    rules = Rules.of(max_turns)

    def rollout(attempt: Attempt) -> RolloutPlan:
        found: list[Trajectory] = []
        while len(found) < most:
            number = len(found)
            seed = derive_seed(attempt.seed, "attempt", number)
            play = Play(replace(attempt, id=f"{attempt.id}/{number}", seed=seed), rules)
            found.append((yield from play.run(_turns(play, alarm))))
            if found[-1].ending == GIVEN_UP:
                continue
            if found[-1].ending.kind == "infra_error" or found[-1].ending.reason == "stopped" or succeeded(found[-1]):
                break
        return found

    return rollout


def _turns(play: Play, alarm: Alarm | None) -> Generator[Request, Any, Ending]:
    while (ending := (yield from play.turn())) is None:
        if alarm is not None and play.exhausted() is None and alarm(play.partial_trajectory()):
            return GIVEN_UP
    return ending
