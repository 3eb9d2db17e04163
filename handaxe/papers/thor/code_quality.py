"""Step: keeps lessons whose calls compute."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from handaxe.synthesis.draft import SynthesisDraft
from handaxe.synthesis.lesson import lesson_turns_of
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept
from handaxe.synthesis.task_drafts import draft_task

__all__ = ["code_quality", "is_computation"]

WORK = (ast.BinOp, ast.For, ast.While, ast.If, ast.comprehension, ast.Import, ast.ImportFrom)


def is_computation(code: str) -> bool:
    """Test whether a code has an operator, a library, control flow, or a call of a function other than print.

    Example:
        "57*83", "gcd(12,18)" and "import math" -> True; "4731", "print(4731)" and "57*" -> False

    Paper: arXiv:2509.13761 (THOR), section 2.2: code with a library call or control flow (loop or branch).
    Differs: an operator or a call of a function suffices, since the worlds here have one computation a call. The
        released filter counts lines instead: a solution is dropped if more than 40 % of its blocks have at most 5.
    """
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    called = [one.func for one in nodes if isinstance(one, ast.Call)]
    other = any(not (isinstance(one, ast.Name) and one.id == "print") for one in called)
    return other or any(isinstance(one, WORK) for one in nodes)


def code_quality() -> SynthesisStep:
    """Make the step "code_quality": drops a lesson with a call that states a value and computes nothing.

        kept  <=>  every call is_computation

    Returns:
        A step that keeps drafts of kind "task" with lessons.

    Example:
        a lesson with the call "print(4731)" is dropped

    Paper: arXiv:2509.13761 (THOR), filter of code quality.
    Differs: see `is_computation`.
    """

    def one(draft: SynthesisDraft) -> DraftOutcome:
        bad = [turn for turn in lesson_turns_of(draft_task(draft)) if not turn.fails and not is_computation(turn.code)]
        return dropped("a call computes nothing") if bad else kept(draft)

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        del at
        return [one(draft) for draft in drafts]

    return SynthesisStep("code_quality", run)
