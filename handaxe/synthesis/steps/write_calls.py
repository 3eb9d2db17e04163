"""Step: rewrites worked solutions with tool calls."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.synthesis.call_writer import CallWriter, WorkedText
from handaxe.synthesis.draft import SynthesisDraft
from handaxe.synthesis.lesson import lesson_draft, lesson_turns
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept
from handaxe.synthesis.task_drafts import draft_task, draft_text
from handaxe.worlds.world import World

__all__ = ["NO_CALL", "write_calls"]

NO_CALL = "nothing worth a call"


def write_calls(world: World, writer: CallWriter) -> SynthesisStep:
    """Make the step "write_calls": a task with a worked solution -> a task with a lesson of turns with calls.

        "... left with 72*0.25=18 pebbles. ... back to 18+4=22 pebbles. #### 22"
        ->  "... left with" and a call of 72*0.25, "18 pebbles. ... back to" and a call of 18+4

    Args:
        world: has `solution`.
        writer: of the calls.

    Returns:
        A step that keeps drafts of kind "task"; a solution without a computation worth a call drops the task.

    Raises:
        InputError: the world has no solutions; while running, see `CallWriter`.

    Example:
        "12*34=?" with the solution "12*34=408"  ->  lesson [["", "12*34", "408", false]]

    Paper: arXiv:2504.11536 (ReTool) and arXiv:2512.20745 (AgentMath), tool-augmented data from text solutions.
    Unconfirmed: see `CallWriter`.
    Differs: see `CallWriter`.
    """
    solution = world.need("solution")

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        del at
        texts = [WorkedText(one.id, draft_text(one), solution(draft_task(one))) for one in drafts]
        out = list[DraftOutcome]()
        for draft, written in zip(drafts, writer.write(texts), strict=True):
            turns = lesson_turns(written.found)
            reason = written.reason or ("" if turns else NO_CALL)
            made = dropped(reason) if reason else kept(lesson_draft(draft, turns))
            out.append(made._replace(asked=written.asked))
        return out

    return SynthesisStep("write_calls", run, settings={"world": world.name, **writer.settings})
