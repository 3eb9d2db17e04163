"""Figures of PhysToolBench: accuracy by level, and the gaps between levels."""

from __future__ import annotations

from handaxe.core.errors import InputError
from handaxe.evaluation.evaluation_result import Evaluation
from handaxe.papers.phys_tool_bench.tool_scenes import LEVELS

__all__ = ["level_accuracy"]


def level_accuracy(evaluation: Evaluation) -> dict[str, float]:
    """Compute the figures of an evaluation that is broken down by "level".

        accuracy_l       share of correct answers on level l
        gap/l            accuracy_recognition - accuracy_l, for the other levels
        misfit           share of answers on availability that name an object

    Args:
        evaluation: of a policy in the world `tool_scenes`, with all levels.

    Returns:
        Figures by name: the levels, "gap/LEVEL" and "misfit".

    Raises:
        InputError: the evaluation lacks a level.

    Example:
        recognition 0.9, availability 0.6  ->  gap/availability 0.3

    Paper: arXiv:2510.09507 (PhysToolBench), exact-match accuracy by level.
    Differs: nothing.
    """
    rows = evaluation.breakdown.get("level", {})
    if missing := [level for level in LEVELS if level not in rows]:
        raise InputError(f"the evaluation lacks the levels {', '.join(missing)}: evaluate more tasks of tool_scenes")
    accuracy: dict[str, float] = {level: rows[level]["pass@1"].value for level in LEVELS}
    gaps = {f"gap/{level}": accuracy["recognition"] - accuracy[level] for level in LEVELS[1:]}
    return {**accuracy, **gaps, "misfit": evaluation.metrics["misfit"].value}
