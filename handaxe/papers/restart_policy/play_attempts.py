"""Attempts at held-out tasks with an alarm, and their successes per turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from handaxe.core.protocols import ChatFormat, Engine
from handaxe.core.records import Group, Sampling, Trajectory
from handaxe.core.requests import Attempt
from handaxe.ops.seeds import derive_seed
from handaxe.papers.restart_policy.retry_attempts import GIVEN_UP, Alarm, retry_attempts
from handaxe.rollouts import driver
from handaxe.worlds.world import World

__all__ = ["AttemptCounts", "AttemptPlayer", "count_attempts", "play_attempts"]


class AttemptPlayer(NamedTuple):
    """Player of attempts: world, policy, and turns of an attempt."""

    world: World
    engine: Engine
    format: ChatFormat
    max_turns: int
    max_tokens: int = 16

    def succeeded(self, one: Trajectory) -> bool:
        """Return the verdict of the world's rule."""
        return float(self.world.correct(Group(one.task, (one,))).outcome[0]) > 0.5


class AttemptCounts(NamedTuple):
    """Sums over the attempts at some tasks: turns, tasks with a success, tasks, attempts, and interrupted attempts."""

    turns: int
    successes: int
    tasks: int
    attempts: int
    interrupted: int

    @property
    def rate(self) -> float:
        """Successes per 100 turns; the inverse of the time to a success, and 0 without a success."""
        return 100 * self.successes / self.turns


def play_attempts(
    player: AttemptPlayer, *, count: int, seeds: Sequence[int], alarm: Alarm | None = None, most: int = 1
) -> list[list[list[Trajectory]]]:
    """Play held-out tasks, each until a success.

    Args:
        player: world and policy.
        count: tasks of a seed.
        seeds: of tasks and attempts, all played together. Equal seeds give equal attempts, up to an alarm.
        alarm: see `retry_attempts`.
        most: attempts at a task.

    Returns:
        For each seed the attempts of each task.

    Example:
        2 tasks at seeds 0 and 1, most 3  ->  [[[a, b], [c]], [[d], [e, f, g]]], 2 attempts at the first task

    Paper: arXiv:2301.10846 (Restart policy), restart of a task at a predicted failure.
    Differs: attempts are rollouts of a policy in a world; the paper watches a robot.
    """
    world = player.world
    env = world.env(world.tools)
    sampling = Sampling(max_tokens=player.max_tokens)
    context = player.engine.max_length
    attempts = [
        Attempt(task, env, player.format, sampling, task.id, 0, derive_seed(seed, task.id), context)
        for seed in seeds
        for task in world.tasks("test", count, seed)
    ]
    strategy = retry_attempts(alarm=alarm, succeeded=player.succeeded, most=most, max_turns=player.max_turns)
    found = driver.run(attempts, strategy, player.engine, workers=1, lockstep=True)
    return [found[start : start + count] for start in range(0, len(found), count)]


def count_attempts(found: Sequence[Sequence[Trajectory]], succeeded: Callable[[Trajectory], bool]) -> AttemptCounts:
    """Add up the attempts of several tasks. An interrupted attempt is no success.

    Example:
        tasks with attempts of 3 turns (interrupted) and 5 (success), and of 12 turns (failure)  ->  20 turns, 1
        success, 2 tasks, 3 attempts, 1 interrupted; rate 5
    """
    attempts = [one for own in found for one in own]
    return AttemptCounts(
        turns=sum(len(one.turns) for one in attempts),
        successes=sum(any(one.ending != GIVEN_UP and succeeded(one) for one in own) for own in found),
        tasks=len(found),
        attempts=len(attempts),
        interrupted=sum(one.ending == GIVEN_UP for one in attempts),
    )
