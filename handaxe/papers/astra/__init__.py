"""ASTRA (arXiv:2601.21558): trajectories from a tool graph, then RL in synthesized environments with an F1 reward."""

from typing import Literal

from handaxe import selection
from handaxe.core.protocols import Curriculum
from handaxe.core.records import Task
from handaxe.curricula.in_order import in_order
from handaxe.methods.method import Method, replace
from handaxe.papers.astra.graph_lessons import graph_lessons
from handaxe.papers.astra.trajectory_f1 import Measure, trajectory_f1
from handaxe.training.stages.sources import scripted
from handaxe.training.stages.teach import teach

__all__ = ["astra"]

DELTA = 1e-3
"""Least standard deviation of a group's rewards."""


def astra(
    base: Method,
    *,
    measure: Measure = "f1",
    offered: Literal["distractors", "needed"] = "distractors",
    lessons: int = 256,
    rounds: int = 3,
    teach_rate: float = 3e-4,
) -> Method:
    """Teach trajectories of the tool graph, then train by the F1 of solved sub-questions on batches of varied groups.

    Args:
        measure: reward: "f1" (the paper's), "recall" or "precision".
        offered: tools of training tasks: with distractors of three bands of similarity, or needed tools alone.
        lessons: tasks of the tool graph, of which the better half of the trajectories is taught; 0 for none.
        rounds: most rounds of sampling that fill a batch with groups of different rewards.
        teach_rate: learning rate of the supervised stage.
    """
    taught = teach(source=scripted(trajectories=graph_lessons(tasks=max(1, lessons))), learning_rate=teach_rate)

    def tasks(found: list[Task], seed: int) -> Curriculum:
        chosen = found if offered == "distractors" else [_needed(task) for task in found]
        return in_order(chosen, seed=seed)

    return replace(
        base,
        tasks=tasks,
        stages=(*base.stages, *([taught] if lessons else [])),
        reward=trajectory_f1(measure=measure),
        select=selection.drop_equal_groups(tolerance=DELTA),
        async_config=replace(base.async_config, rounds=rounds),
    )


def _needed(task: Task) -> Task:
    return replace(task, tools=tuple(task.metadata["needed"]))
