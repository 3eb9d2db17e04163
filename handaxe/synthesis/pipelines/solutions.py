"""Pipeline: worked solutions of a world, rewritten with executed tool calls."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.synthesis import steps
from handaxe.synthesis.call_writer import CallWriter
from handaxe.synthesis.context import PipelineContext
from handaxe.synthesis.lesson import LessonTool
from handaxe.synthesis.pipeline import Pipeline
from handaxe.synthesis.step import SynthesisStep

__all__ = ["lesson_pipeline", "solutions"]


def solutions(
    at: PipelineContext,
    *,
    tool: str = "calculator",
    argument: str = "expression",
    form: str = "{}",
    easy: int = 10,
    tries: int = 2,
    batch: int = 256,
) -> Pipeline:
    """Draw tasks, replace computations in the solutions by calls, and execute the calls.

        propose -> write_calls -> execute_calls -> dedupe -> decontaminate

    The rule finds computations by pattern; a model names spans of the solution and writes the code.

    Args:
        tool: that computes.
        argument: of the tool, for the code.
        form: code of an expression by the rule, such as print({}) for the tool python.
        easy: computations with all numbers below this stay text, by the rule.
        tries: executions of a lesson.
        batch: tasks of a round.

    Example:
        "12*34=?" with the solution "12*34=408"  ->  a task with the lesson [["", "12*34", "408", false]]

    Paper: arXiv:2504.11536 (ReTool), the cold start.
    Differs: see `CallWriter`.
    """
    writer = CallWriter(at.desk, tool=LessonTool(tool, argument, form), easy=easy)
    return lesson_pipeline(at, steps.write_calls(at.world, writer), tool=writer.tool, tries=tries, batch=batch)


def lesson_pipeline(
    at: PipelineContext,
    *written: SynthesisStep,
    tool: LessonTool,
    checks: Sequence[SynthesisStep] = (),
    tries: int = 2,
    batch: int = 256,
    name: str = "solutions",
) -> Pipeline:
    """Make a pipeline around lesson-writing steps.

        propose -> written ... -> execute_calls -> checks ... -> dedupe -> decontaminate

    Args:
        written: steps from a task to a task with a lesson.
        tool: of the calls.
        checks: further filters of executed lessons.
        tries, batch: see `solutions`.
        name: of the pipeline.

    Example:
        lesson_pipeline(at, steps.write_calls(at.world, writer), tool=writer.tool)

    Idea: papers differ in how lessons are written, and agree in how they are checked.
    """
    chosen = (
        steps.draw_tasks(at.world, options=at.options),
        *written,
        steps.execute_calls(at.env, tool, tries=tries),
        *checks,
        steps.dedupe(similarity=1.1),
        steps.decontaminate(at.tests),
    )
    return Pipeline(name, chosen, batch=batch, about={"world": at.world.name, "options": at.options})
