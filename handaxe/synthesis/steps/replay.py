"""Step: keeps tasks whose reference calls succeed again and give the answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import ParsedTurn, Task, ToolCall
from handaxe.synthesis.draft import SynthesisDraft
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept
from handaxe.synthesis.task_drafts import draft_task

__all__ = ["has_answer", "replay", "replay_calls"]


def replay(env: EnvFactory, *, tries: int = 2, answers: Callable[[Task, str], bool] | None = None) -> SynthesisStep:
    """Make the step "replay": executes the reference calls of a task in fresh environments.

        kept  <=>  each of `tries` replays has no error, all replies are equal, and the last one has the answer

    Args:
        env: of the tasks; every environment that is made is closed.
        tries: replays, 1 or more; with 1, a changing reply goes unnoticed.
        answers: (task, text of the last reply) -> True if it has the answer; None: `has_answer`.

    Returns:
        A step that keeps drafts of kind "task". A failure of the infrastructure is raised, and drops nothing.

    Raises:
        InputError: tries below 1.

    Example:
        answer 408, call calculator(12*34) -> 408 twice: kept;  answer 407, or an error, or 408 and then 409: dropped

    Idea: what can be executed is verified by execution, whoever proposed it.
    """
    if tries < 1:
        raise InputError(f"tries is {tries}; give 1 or more")
    holds = answers or has_answer

    def one(draft: SynthesisDraft) -> DraftOutcome:
        task = draft_task(draft)
        if not task.metadata.get("gold_calls"):
            return dropped("no calls")
        try:
            found = [replay_calls(task, env, seed) for seed in range(tries)]
        except TaskError:
            return dropped("refused by the environment")
        if not all(found):
            return dropped("a call failed")
        if any(again != found[0] for again in found):
            return dropped("replies differ")
        return kept(draft) if holds(task, found[0][-1]) else dropped("another answer")

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        return at.map(one, drafts)

    return SynthesisStep("replay", run, settings={"tries": tries})


def replay_calls(task: Task, env: EnvFactory, seed: int) -> list[str]:
    """Make the reference calls of a task in a fresh environment, a turn each.

    Returns:
        The replies; [] without calls, or after a failure.

    Raises:
        TaskError: by the environment, for a task that it refuses.
    """
    made, contents = env(task), list[str]()
    try:
        made.start()
        for k, call in enumerate(task.metadata.get("gold_calls", ())):
            calls = (ToolCall(call["name"], call["arguments"], f"replayed-{k}"),)
            reply = made.step(ParsedTurn("", calls), seed=seed)
            if any(one.status != "ok" for one in reply.replies) or not reply.replies or reply.ending is not None:
                return []
            contents.append("\n".join(one.content for one in reply.replies))
    finally:
        made.close()
    return contents


def has_answer(task: Task, text: str) -> bool:
    """Test whether a text has the answer of a task as a separate word."""
    return re.search(rf"(?<!\w){re.escape(str(task.answer))}(?!\w)", text) is not None
