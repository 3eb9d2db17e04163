"""Trajectories of tasks from the tool graph, played against tools that fail at times, for supervised fine-tuning."""

from __future__ import annotations

import random
from collections.abc import Callable

from handaxe.core.errors import InputError
from handaxe.core.protocols import Stage, StageContext
from handaxe.core.records import Task, Trajectory
from handaxe.ops.seeds import derive_seed
from handaxe.papers.astra.arena import arena
from handaxe.papers.astra.graph_tasks import chain_runs, graph_parts, graph_task, observed_graph, question_score
from handaxe.papers.astra.records import TypedRecords, make_records
from handaxe.papers.astra.tool_graph import ToolGraph
from handaxe.papers.astra.trajectory_axes import trajectory_axes
from handaxe.training.stages.sources import scripted
from handaxe.training.stages.teach import teach
from handaxe.worlds.parts.demonstrate import demonstrate

__all__ = ["graph_lessons", "lesson_stages", "lesson_tasks"]

MOST = 100
"""Walks for one task at most."""
TURNS = 12


def graph_lessons(
    *, tasks: int = 256, keep: float = 0.5, outages: float = 0.2, spurious_rate: float = 0.4, world_seed: int = 0
) -> Callable[[StageContext], list[Trajectory]]:
    """Make the trajectories of pipeline A for a stage `teach`, by `sources.scripted`.

        walks of the tool graph -> edges executed -> tasks with all scores 1 -> played with failing tools
        -> the share `keep` with the best mean of seven axes

    Args:
        tasks: played tasks, 1 or more.
        keep: share of the trajectories, above 0 and up to 1.
        outages: share of calls that fail; 0.2 in the paper.
        spurious_rate: of the expert, see `arena`.
        world_seed: of the records.

    Returns:
        A function of the stage's context, whose chat format renders the trajectories.

    Raises:
        InputError: a number out of range.

    Example:
        256 tasks, keep 0.5 -> 128 trajectories, without most calls of distractors

    Paper: arXiv:2601.21558 (ASTRA), synthesis of trajectories.
    Differs: an expert plays, where the paper's language model does; rules score.
    """
    if tasks < 1 or not 0 < keep <= 1:
        raise InputError(f"tasks is {tasks} and keep {keep}; give 1 or more, and above 0 up to 1")

    def trajectories(site: StageContext) -> list[Trajectory]:
        world = arena(outages=outages, spurious_rate=spurious_rate, world_seed=world_seed)
        env, expert = world.env(()), world.need("expert")
        played = [
            demonstrate(
                env,
                task,
                expert,
                format=site.format,
                id=f"graph-{number}",
                seed=derive_seed("graph lessons", site.seed, number),
                max_turns=TURNS,
                context=site.engine.max_length,
            )
            for number, task in enumerate(lesson_tasks(tasks, site.seed, world_seed=world_seed))
        ]
        ranked = sorted(played, key=lambda one: -trajectory_axes(one).mean)
        return ranked[: max(1, round(keep * len(ranked)))]

    return trajectories


def lesson_stages(tasks: int, *, teach_rate: float) -> tuple[Stage, ...]:
    """Make the supervised stage on the trajectories of `graph_lessons`; no stage for 0 tasks.

    Args:
        tasks: played tasks, from 0.
        teach_rate: learning rate.
    """
    if not tasks:
        return ()
    return (teach(source=scripted(trajectories=graph_lessons(tasks=tasks)), learning_rate=teach_rate),)


def lesson_tasks(count: int, seed: int, *, world_seed: int = 0, size: int = 200) -> list[Task]:
    """Make tasks for walks of the tool graph, all of the training half.

    Raises:
        InputError: none of 100 walks gives a task.
    """
    records, graph = make_records(seed=world_seed, size=size), observed_graph(seed)
    rngs = [random.Random(derive_seed("graph task", seed, k)) for k in range(count)]
    return [_task(records, graph, rng, f"graph-{k}") for k, rng in enumerate(rngs)]


def _task(records: TypedRecords, graph: ToolGraph, rng: random.Random, name: str) -> Task:
    for _ in range(MOST):
        parts = graph_parts(records, graph, rng)
        if not all(chain_runs(records, start, chain) for start, chain in parts):
            continue
        task = graph_task(records, parts, rng, name=name)
        if task is not None and question_score(parts, task) == 1:
            return task
    raise InputError(f"none of {MOST} walks of the tool graph gives a task; give more chains")
