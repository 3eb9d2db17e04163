"""Stage: supervised fine-tuning on the lessons of a pipeline."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from handaxe.core.errors import InputError
from handaxe.core.protocols import Source, Stage, StageContext
from handaxe.core.records import RatedGroup
from handaxe.synthesis.lesson import LessonTool, play_lesson
from handaxe.synthesis.pipeline import Pipeline, SynthesisReport
from handaxe.synthesis.task_drafts import draft_task
from handaxe.training.sft.supervised import as_rated
from handaxe.training.stages.teach import teach

__all__ = ["lesson_figures", "teach_synthesized"]

FOLDER = "synthesis"


def teach_synthesized(
    *,
    pipeline: Callable[[StageContext], Pipeline],
    tool: LessonTool,
    count: int,
    epochs: int = 1,
    most_rounds: int = 20,
    batch_size: int = 32,
    learning_rate: float = 1e-3,
) -> Stage:
    """Make a stage: run a pipeline, and learn from the lessons.

        loss = - mean over a batch's tokens of log pi(token)        of words, calls and answers; replies do not train

    The files of the pipeline are in the folder "synthesis" of the stage: a killed run continues from the ledger.
    Lessons are played again in the stage's environment and chat format; those beyond the engine's context are left out.

    Args:
        pipeline: context of the stage -> pipeline of tasks with lessons.
        tool: of the calls.
        count: lessons, >= 0; 0 does nothing.
        epochs: passes over them, >= 0; 0 does nothing.
        most_rounds: of the pipeline.
        batch_size: lessons of an optimiser step.
        learning_rate: of every step.

    Returns:
        A stage: the rows of `teach`, each with the figures of `lesson_figures`.

    Raises:
        InputError: count or epochs below 0; when it runs, no lesson is kept, with the reasons; see also `ask_values`.

    Example:
        64 lessons of a call and an answer each  ->  two steps of 32 lessons

    Paper: arXiv:2512.20745 (AgentMath), arXiv:2509.13761 (THOR) and arXiv:2504.11536 (ReTool) begin with such data.
    Unconfirmed: epochs and rates.
    """
    if count < 0 or epochs < 0:
        raise InputError(f"count is {count} and epochs {epochs}; give 0 or more of each")

    def stage(site: StageContext) -> list[dict[str, float]]:
        if not count or not epochs:
            return []
        with ExitStack() as stack:
            out = stack.enter_context(tempfile.TemporaryDirectory()) if site.out is None else site.out / FOLDER
            report = pipeline(site).run(out=Path(out), count=count, seed=site.seed, most_rounds=most_rounds)
        groups = _played(site, report, tool)
        if not groups:
            raise InputError(f"pipeline {report.card['pipeline']} has no lesson that fits: {_reasons(report)}")
        found = {**lesson_figures(report), "fit": float(len(groups))}
        source: Source = lambda site: groups  # noqa: E731
        rows = teach(source=source, epochs=epochs, batch_size=batch_size, learning_rate=learning_rate)(site)
        return [{**row, **found} for row in rows]

    return stage


def lesson_figures(report: SynthesisReport) -> dict[str, float]:
    """Figures of a pipeline's run.

    Returns:
        proposed (drawn tasks), made (lessons), corrected (share of lessons with a failed call), calls (mean a lesson),
        and asks (questions to models).

    Example:
        10 tasks, 8 lessons of one call, 2 of them with a failed call before  ->  10, 8, 0.25, 1.25, 0

    Idea: a funnel says which filters act.
    """
    notes = [one.notes for one in report.drafts]
    share = 1 / max(len(notes), 1)
    return {
        "proposed": float(report.card["steps"][0]["out"]),
        "made": float(len(notes)),
        "corrected": sum(bool(one.get("failed")) for one in notes) * share,
        "calls": sum(one.get("calls", 0) for one in notes) * share,
        "asks": float(sum(one["asks"] for one in report.card["cost"].values())),
    }


def _played(site: StageContext, report: SynthesisReport, tool: LessonTool) -> list[RatedGroup]:
    tasks = [draft_task(one) for one in report.drafts]
    context = site.engine.max_length
    played = [play_lesson(site.env, task, tool, format=site.format, context=context) for task in tasks]
    return [as_rated([one]) for one in played if not isinstance(one, str)]


def _reasons(report: SynthesisReport) -> str:
    found = [f"{count} {reason}" for step in report.card["steps"] for reason, count in step["reasons"].items()]
    return "; ".join(found) or f"{len(report.drafts)} lessons exceed the context"
