"""RoboTool (arXiv:2310.13065): Analyzer, Planner, Calculator and Coder write programs of creative tool use."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.methods.method import StudyFunction
from handaxe.papers.robotool.role_pipeline import ARMS, PipelineRun, make_roles, run_pipeline
from handaxe.papers.robotool.tool_tasks import CATEGORIES, draw_task

__all__ = ["robotool"]

ERRORS = ("tool", "logical", "numerical", "code")


def robotool(
    *, tasks: int = 20, analyzer: str = "rule", planner: str = "rule", calculator: str = "rule", coder: str = "rule"
) -> StudyFunction:
    """Write and execute programs for six kinds of tasks, with all roles and without some. Nothing trains.

    Figures:
        ARM/success             share of solved tasks; ARM is full, no_analyzer, no_calculator, planner_coder or coder
        ARM/tool, ARM/logical, ARM/numerical, ARM/code      share of tasks whose first error is of this kind
        ARM/unanswered          share of tasks in which a role has no answer; they are in no other figure
        ARM/CATEGORY            success by category: selection, sequential or manufacturing

    A figure without tasks is NaN.

    Args:
        tasks: of each of six kinds.
        analyzer: who finds key concepts: rule, a model, http://HOST/v1#NAME or MODULE:ATTRIBUTE of your own.
        planner: who plans and chooses tools, likewise.
        calculator: who computes numbers, likewise.
        coder: who writes the program, likewise.
    """
    if tasks < 1:
        raise InputError(f"give 1 task or more of a kind, not {tasks}")
    roles = make_roles({"analyzer": analyzer, "planner": planner, "calculator": calculator, "coder": coder})

    def measure(seed: int) -> dict[str, float]:
        drawn = [draw_task(target, seed * tasks + k) for target in CATEGORIES for k in range(tasks)]
        figures = dict[str, float]()
        for arm in ARMS:
            runs = [run_pipeline(task, roles, arm=arm) for task in drawn]
            figures |= {f"{arm}/{name}": value for name, value in _shares(runs).items()}
            for category in dict.fromkeys(CATEGORIES.values()):
                own = [run for task, run in zip(drawn, runs, strict=True) if CATEGORIES[task.target] == category]
                figures[f"{arm}/{category}"] = _shares(own)["success"]
        return figures

    return measure


def _shares(runs: Sequence[PipelineRun]) -> dict[str, float]:
    errors = [run.outcome.error for run in runs if run.outcome is not None]
    shares = {"success": "", **{name: name for name in ERRORS}}
    figures = {
        name: float(np.mean([one == kind for one in errors])) if errors else math.nan for name, kind in shares.items()
    }
    return {**figures, "unanswered": 1 - len(errors) / len(runs)}
