"""Pipeline of `handaxe synthesize`: TIRGen with its filters."""

from __future__ import annotations

from handaxe.asking.desk import AskDesk
from handaxe.papers.thor.actor import Actor, AskedActor, WorkedActor
from handaxe.papers.thor.code_quality import code_quality
from handaxe.papers.thor.tirgen import tirgen
from handaxe.synthesis import steps
from handaxe.synthesis.call_writer import CallWriter
from handaxe.synthesis.context import PipelineContext
from handaxe.synthesis.lesson import LessonTool
from handaxe.synthesis.pipeline import Pipeline
from handaxe.synthesis.pipelines.solutions import lesson_pipeline
from handaxe.worlds.world import World

__all__ = ["thor_solutions", "tirgen_pipeline"]


def thor_solutions(
    at: PipelineContext,
    *,
    tool: str = "calculator",
    argument: str = "expression",
    form: str = "{}",
    easy: int = 10,
    most_direct: float = 0.5,
    factor: float = 2.0,
    batch: int = 256,
) -> Pipeline:
    """Solve tasks by actor and refiner, and filter by execution, code, difficulty and number of calls.

        propose -> tirgen -> execute_calls -> code_quality -> difficulty -> balance -> dedupe -> decontaminate

    With --proposer one model is actor and refiner. Difficulty is measured with --policy, without tools.

    Args:
        tool: that computes.
        argument: of the tool, for the code.
        form: code of an expression by the rule.
        easy: computations with all numbers below this stay text, by the rule.
        most_direct: pass rate of the policy without tools from which a task is dropped as too easy.
        factor: see the step balance, by the number of calls.
        batch: tasks of a round.

    Example:
        10 lessons of one call, 2 of two and 2 of three, factor 2  ->  4, 2 and 2 stay

    Paper: arXiv:2509.13761 (THOR), TIRGen and its filters.
    Unconfirmed: `most_direct` and `factor`; the paper drops questions that are solved without tools, and samples the
        solutions of each number of calls down moderately.
    Differs: see `tirgen`.
    """
    made = LessonTool(tool, argument, form)
    checks = [code_quality()]
    if at.policy is not None:
        engine, format, digest = at.policy
        bare = at.world.env(())
        checks.append(steps.difficulty(at.world, bare, engine, format, policy=digest, high=most_direct))
    checks.append(steps.balance("calls", factor=factor))
    writer = CallWriter(at.desk, tool=made, easy=easy)
    solved = tirgen(at.env, _actor(at.world, at.desk), writer)
    return lesson_pipeline(at, solved, tool=made, checks=checks, batch=batch, name="thor_solutions")


def tirgen_pipeline(
    at: PipelineContext, *, actor: AskDesk | None, refiner: AskDesk | None, tool: LessonTool, batch: int = 64
) -> Pipeline:
    """Make the pipeline of `thor_tirgen`, with a model for each role; None is the rule.

        propose -> tirgen -> execute_calls -> code_quality -> dedupe -> decontaminate

    Example:
        tirgen_pipeline(at, actor=None, refiner=desk, tool=CALCULATOR): worked steps, and a model that writes calls

    Paper: arXiv:2509.13761 (THOR), TIRGen.
    Differs: without the filters of difficulty and number of calls, see `thor_solutions`.
    """
    solved = tirgen(at.env, _actor(at.world, actor), CallWriter(refiner, tool=tool))
    return lesson_pipeline(at, solved, tool=tool, checks=[code_quality()], batch=batch, name="thor_tirgen")


def _actor(world: World, desk: AskDesk | None) -> Actor:
    return WorkedActor(world.need("solution")) if desk is None else AskedActor(desk)
