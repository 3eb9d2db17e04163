"""Tasks proposed from exploration, filtered by replay of their reference calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Task, Trajectory
from handaxe.synthesis.steps.replay import has_answer, replay_calls

__all__ = ["Explored", "explored_tasks"]

Propose = Callable[[Trajectory], Sequence[Task]]
"""Tasks proposed from a trajectory, each with its answer and its reference calls."""


class Explored(NamedTuple):
    """Result of an exploration.

    tasks               valid tasks, in the order of proposal
    proposed            number of proposed tasks
    repeated, failed    number of tasks left out as duplicates, or because the reference calls did not give the answer
    """

    tasks: list[Task]
    proposed: int
    repeated: int
    failed: int


def explored_tasks(
    attempts: Iterable[Trajectory],
    *,
    propose: Propose,
    env: EnvFactory,
    tries: int = 2,
) -> Explored:
    """Make tasks of trajectories, and keep new, solvable and reproducible tasks.

        a proposed task is valid  <=>  its wording is new among the proposed tasks, and
                                       its reference calls, made in each of `tries` fresh environments, all succeed with
                                       equal replies each time, and the last reply holds its answer as a separate
                                       word

    Args:
        attempts: trajectories played without a task, in order.
        propose: tasks of a trajectory, with reference calls in metadata["gold_calls"].
        env: of the tasks; every environment that is made is closed.
        tries: replays, >= 1; with 1, a changing reply goes unnoticed.

    Returns:
        The tasks in the order of proposal, and the counts of those left out.

    Raises:
        InputError: tries below 1. A task that the environment refuses has failed.

    Example:
        proposed "4071 boss?" (answer 5526, call search(query='4071 boss')) twice  ->  one task, if the search finds
        "4071 boss 5526" both times; none if it finds something else, or differs, or fails

    Paper: arXiv:2511.10395 (AgentEvolver), its self-questioning: the filter of proposed tasks by replay.
    Unconfirmed: the comparison of tasks with each other.
    Differs: a rule judges, where the paper asks a model; tasks are equal if their words are.
    """
    if tries < 1:
        raise InputError(f"tries is {tries}; give 1 or more")
    seen = set[str]()
    valid: list[Task] = []
    proposed = [task for one in attempts for task in propose(one)]
    repeated = 0
    for task in proposed:
        if _words(task) in seen:
            repeated += 1
            continue
        seen.add(_words(task))
        found = _replayed(task, env, tries)
        first = found[0]
        if first and all(one == first for one in found) and has_answer(task, first[-1]):
            valid.append(task)
    return Explored(valid, len(proposed), repeated, len(proposed) - repeated - len(valid))


def _replayed(task: Task, env: EnvFactory, tries: int) -> list[list[str]]:
    try:
        return [replay_calls(task, env, seed) for seed in range(tries)]
    except TaskError:
        return [[]]


def _words(task: Task) -> str:
    return " ".join(" ".join(one.content for one in task.messages).lower().split())
