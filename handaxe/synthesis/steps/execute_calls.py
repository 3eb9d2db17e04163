"""Step: keeps lessons with calls that run and agree with the text."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.core.protocols import EnvFactory
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.synthesis.draft import SynthesisDraft
from handaxe.synthesis.lesson import LessonTool, lesson_turns_of, play_lesson
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept
from handaxe.synthesis.task_drafts import draft_task

__all__ = ["execute_calls"]


def execute_calls(env: EnvFactory, tool: LessonTool, *, tries: int = 2) -> SynthesisStep:
    """Make the step "execute_calls": plays each lesson in fresh environments.

        kept  <=>  in each of `tries` plays every call runs and agrees with the text, every call that has to fail fails,
                   and the replies of all plays are equal

    Args:
        env: of the tasks.
        tool: of the calls.
        tries: plays, 1 or more.

    Returns:
        A step that keeps drafts of kind "task", with the notes "calls" and "failed", numbers of calls.

    Raises:
        InputError: tries below 1. InfrastructureError: while running, the tool died.

    Example:
        "70+12=83" with the call 70+12, which returns 82, is dropped: a reply contradicts the text

    Paper: arXiv:2512.20745 (AgentMath), execution of rewritten solutions; arXiv:2509.13761 (THOR), its filters by
    execution and consistency.
    Unconfirmed: how a reply is compared with the text.
    """
    if tries < 1:
        raise InputError(f"tries is {tries}; give 1 or more")

    def one(draft: SynthesisDraft) -> DraftOutcome:
        task, chat = draft_task(draft), Transcript()
        replies = list[list[str]]()
        for seed in range(tries):
            played = play_lesson(env, task, tool, format=chat, seed=seed)
            if isinstance(played, str):
                return dropped(played)
            replies.append([reply.content for reply in played.replies])
        if any(again != replies[0] for again in replies):
            return dropped("replies differ")
        turns = lesson_turns_of(task)
        return kept(draft.noted({"calls": len(turns), "failed": sum(turn.fails for turn in turns)}))

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        return at.map(one, drafts)

    return SynthesisStep("execute_calls", run, settings={"tries": tries, "tool": list(tool)})
