"""Step: adds failed calls, their errors, and corrected calls to lessons."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import ParsedTurn, Task
from handaxe.ops.seeds import derive_seed
from handaxe.synthesis.call_corrector import CallCorrector, FailedCall
from handaxe.synthesis.draft import SynthesisDraft
from handaxe.synthesis.lesson import LessonTool, LessonTurn, lesson_draft, lesson_turns_of
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept
from handaxe.synthesis.task_drafts import draft_task, draft_text

__all__ = ["cut_code", "self_corrections"]


class _Failure(NamedTuple):
    """Failed call of a lesson: number of its turn, code, error, and the code of a planted failure before the cut."""

    turn: int
    code: str
    error: str
    planted: bool


def cut_code(code: str) -> str:
    """Cut a code before its last number, so that it cannot be read.

    Example:
        "12*34" -> "12*";  "print(12*34)" -> "print(12*";  "" and "x" -> ""

    Idea: the errors of a model are cut or unclosed expressions.
    """
    rest = code.rstrip(") \n").rstrip("0123456789.")
    return rest if any(one.isdigit() for one in code) else ""


def self_corrections(
    env: EnvFactory, tool: LessonTool, *, share: float = 0.25, desk: AskDesk | None = None
) -> SynthesisStep:
    """Make the step "self_corrections": a lesson -> a lesson with one failed call before its correction.

        call                                 ->  failed call | error | corrected call

    The failed call is the first one of the lesson that fails when executed; else, in a share of the lessons, a call
    that is cut (`cut_code`) and fails. A model reads question, failed call and error, and writes the corrected call;
    the rule restores a cut call, and drops a lesson whose own call fails.

    Args:
        env: of the tasks; every environment that is made is closed.
        tool: of the calls.
        share: of lessons whose calls run, with a failed call; 0 to 1. Unconfirmed.
        desk: asks the model for corrections; None for the rule.

    Returns:
        A step that keeps drafts of kind "task". The step execute_calls checks failures and corrections afterwards.

    Raises:
        InputError: a share out of range; while running, see `ask_values`. InfrastructureError: the tool died.

    Example:
        lesson [["", "12*34", "408"]]  ->  [["", "12*", "", fails], ["", "12*34", "408"]]

    Paper: arXiv:2512.20745 (AgentMath), samples of self-correction: a failed call, the error, and the corrected call.
    Unconfirmed: the share, and the source of failed calls.
    Differs: failures are those of the writer, or planted; one a lesson.
    """
    if not 0 <= share <= 1:
        raise InputError(f"share is {share}; give a number from 0 to 1")

    corrector = None if desk is None else CallCorrector(desk, about=f"{tool.name}({tool.argument})")

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        found = at.map(lambda one: _find(one, env, tool, share, at.seed), drafts)
        asked = _corrections(drafts, found, corrector)
        return [
            kept(draft) if failure is None else _outcome(draft, failure, *asked[draft.id])
            for draft, failure in zip(drafts, found, strict=True)
        ]

    about = {} if corrector is None else corrector.settings
    return SynthesisStep("self_corrections", run, settings={"share": share, **about})


def _find(draft: SynthesisDraft, env: EnvFactory, tool: LessonTool, share: float, seed: int) -> _Failure | None:
    task = draft_task(draft)
    turns = lesson_turns_of(task)
    codes = [one.code for one in turns]
    failed = _first_error(env, task, tool, codes)
    if failed is not None:
        return _Failure(failed[0], codes[failed[0]], failed[1], planted=False)
    rng = random.Random(derive_seed("self corrections", seed, draft.id))
    if not turns or rng.random() >= share:
        return None
    k = rng.randrange(len(turns))
    code = cut_code(codes[k])
    failed = _first_error(env, task, tool, [*codes[:k], code]) if code else None
    return None if failed is None or failed[0] < k else _Failure(k, code, failed[1], planted=True)


def _first_error(env: EnvFactory, task: Task, tool: LessonTool, codes: Sequence[str]) -> tuple[int, str] | None:
    """Index and error of the first code that fails in one environment; None if all run."""
    made = env(task)
    try:
        made.start()
        for k, code in enumerate(codes):
            replies = made.step(ParsedTurn("", (tool.call(code, f"c{k}"),)), seed=0).replies
            if any(one.status == "infra_error" for one in replies):
                raise InfrastructureError(f"the tool {tool.name} died in task {task.id}")
            if not replies or replies[0].status != "ok":
                return k, "\n".join(one.content for one in replies)
        return None
    finally:
        made.close()


def _corrections(
    drafts: Sequence[SynthesisDraft], found: Sequence[_Failure | None], corrector: CallCorrector | None
) -> dict[str, tuple[str, str, tuple[Mapping[str, Any], ...]]]:
    """Draft -> (corrected code, reason without one, JSON about the question)."""
    failed = [(draft, one) for draft, one in zip(drafts, found, strict=True) if one is not None]
    if corrector is None:
        return {
            draft.id: (lesson_turns_of(draft_task(draft))[one.turn].code, "" if one.planted else "a call failed", ())
            for draft, one in failed
        }
    calls = [FailedCall(draft.id, draft_text(draft), one.code, one.error) for draft, one in failed]
    values = corrector.correct(calls) if calls else []
    return {
        draft.id: ("", f"no correction: {it.value.reason}", it.asked)
        if isinstance(it.value, NoAnswer)
        else (it.value, "", it.asked)
        for (draft, _), it in zip(failed, values, strict=True)
    }


def _outcome(
    draft: SynthesisDraft, failure: _Failure, code: str, reason: str, asked: tuple[Mapping[str, Any], ...]
) -> DraftOutcome:
    if reason:
        return dropped(reason)._replace(asked=asked)
    turns = lesson_turns_of(draft_task(draft))
    own = turns[failure.turn]
    pair = [LessonTurn(own.text, failure.code, fails=True), LessonTurn("", code, own.value)]
    made = lesson_draft(draft, [*turns[: failure.turn], *pair, *turns[failure.turn + 1 :]])
    return kept(made)._replace(asked=asked)
