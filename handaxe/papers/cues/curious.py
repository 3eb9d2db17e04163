"""Stage of curious exploration, task abstraction, quality control and rewrites."""

from __future__ import annotations

from typing import Literal, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.protocols import EnvFactory, Stage, StageContext
from handaxe.core.records import Task
from handaxe.papers.cues.abstracted_tasks import abstracted_tasks, with_hint
from handaxe.papers.cues.curious_rollouts import curious_rollouts
from handaxe.papers.cues.exploration_memory import ExplorationMemory
from handaxe.synthesis.steps.dedupe import normal_words
from handaxe.synthesis.steps.replay import has_answer, replay_calls
from handaxe.training.stages.probe import get_task_pool
from handaxe.worlds.world import World

__all__ = ["CuriousTasks", "Explore", "curious", "curious_tasks"]

Explore = Literal["curious", "random"]
TRIES = 2
"""Executions of a guideline: the first, and a retry of the released code, here in any case."""


class CuriousTasks(NamedTuple):
    """Tasks of an exploration with counts of those that were left out, and the share of distinct actions."""

    tasks: list[Task]
    proposed: int
    uncertain: int
    repeated: int
    failed: int
    distinct: float


def curious(
    *,
    world: World,
    explore: Explore = "curious",
    rollouts: int = 16,
    steps: int = 18,
    window: int = 12,
    confidence: float = 0.7,
    rewrites: int = 3,
) -> Stage:
    """Make a stage that explores and fills a `task_pool` with the tasks of `curious_tasks`. Nothing trains.

    Args:
        world: has `exploration`.
        explore: "curious" prefers actions that were made least often; "random" draws them.
        rollouts, steps, window, confidence, rewrites: see `curious_tasks`.

    Returns:
        A stage with one row of metrics: proposed, uncertain, repeated, failed, tasks and distinct.

    Raises:
        InputError: the context's tasks are no `task_pool`, or no task is left.

    Example:
        16 rollouts of 18 searches in hops -> some hundred tasks, each executed

    Paper: arXiv:2512.01311 (CuES), its five stages.
    Differs: see `curious_tasks`.
    """

    def stage(site: StageContext) -> list[dict[str, float]]:
        pool = get_task_pool(site, "curious")
        found = curious_tasks(
            world,
            site.env,
            seed=site.seed,
            memory=explore == "curious",
            rollouts=rollouts,
            steps=steps,
            window=window,
            confidence=confidence,
            rewrites=rewrites,
        )
        if not found.tasks:
            raise InputError("the exploration gave no task; give more rollouts or steps")
        pool.tasks = found.tasks
        counts = {**found._asdict(), "tasks": len(found.tasks)}
        return [{"step": 0.0, **{name: float(value) for name, value in counts.items()}}]

    return stage


def curious_tasks(
    world: World,
    env: EnvFactory,
    *,
    seed: int,
    memory: bool = True,
    rollouts: int = 16,
    steps: int = 18,
    window: int = 12,
    confidence: float = 0.7,
    rewrites: int = 3,
) -> CuriousTasks:
    """Make tasks of curious exploration.

        explore with memory -> abstract windows -> confidence >= least -> new words
        -> the guideline executes twice with equal replies and gives the answer
        -> rewrites that reveal 0 to `rewrites` - 1 steps

    Args:
        world: has `exploration`; its training half alone is explored.
        env: of the world.
        seed: of the exploration.
        memory: prefer actions that were made least often; False explores at random.
        rollouts, steps: of the exploration; 4 rollouts of 18 steps in the released code.
        window: turns of an abstraction; 12 in the released code.
        confidence: least one, 0 to 1; 0.7 in the released code.
        rewrites: variants of a task at most, 1 or more; 3 in the released code.

    Returns:
        Tasks of the training half, and counts.

    Raises:
        InputError: a number out of range.

    Example:
        10 proposed, 7 with enough confidence, 6 that execute: 6 tasks, and rewrites of those with two steps and more

    Paper: arXiv:2512.01311 (CuES), as in its released code (modelscope/AgentEvolver, research/CuES).
    Unconfirmed: see `ExplorationMemory` and `abstracted_tasks`.
    Differs: rules explore, abstract and rewrite, and execution judges, where a language model does each.
    """
    if not 0 <= confidence <= 1 or rewrites < 1:
        raise InputError(f"confidence is {confidence} and rewrites {rewrites}; give 0 to 1, and 1 or more")
    known = ExplorationMemory(curious=memory)
    explored = curious_rollouts(world, env, known, rollouts=rollouts, steps=steps, seed=seed)
    propose = world.need("exploration").propose
    proposed = [one for trajectory in explored for one in abstracted_tasks(trajectory, propose, window=window)]
    certain = [one.task for one in proposed if one.confidence >= confidence]
    seen, made = set[tuple[str, ...]](), list[Task]()
    repeated = failed = 0
    for task in certain:
        words = tuple(normal_words(task.messages[-1].content))
        if words in seen:
            repeated += 1
            continue
        seen.add(words)
        found = [replay_calls(task, env, number) for number in range(TRIES)]
        if not found[0] or found[0] != found[1] or not has_answer(task, found[0][-1]):
            failed += 1
            continue
        steps_of = len(task.metadata["gold_calls"])
        made += [with_hint(task, reveal) for reveal in range(min(rewrites, steps_of))]
    return CuriousTasks(made, len(proposed), len(proposed) - len(certain), repeated, failed, known.distinct)
