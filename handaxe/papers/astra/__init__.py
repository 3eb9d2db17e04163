"""ASTRA (arXiv:2601.21558): trajectories from a tool graph, then RL in synthesized environments with an F1 reward."""

from handaxe import selection
from handaxe.methods.method import Method, replace
from handaxe.papers.astra.graph_lessons import lesson_stages
from handaxe.papers.astra.offered_tools import Offered, offered_tools
from handaxe.papers.astra.trajectory_f1 import Measure, trajectory_f1

__all__ = ["astra"]

DELTA = 1e-3
"""Least standard deviation of a group's rewards."""


def astra(
    base: Method,
    *,
    measure: Measure = "f1",
    offered: Offered = "distractors",
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
    return replace(
        base,
        tasks=offered_tools(offered),
        stages=(*base.stages, *lesson_stages(lessons, teach_rate=teach_rate)),
        reward=trajectory_f1(measure=measure),
        select=selection.drop_equal_groups(tolerance=DELTA),
        async_config=replace(base.async_config, rounds=rounds),
    )
