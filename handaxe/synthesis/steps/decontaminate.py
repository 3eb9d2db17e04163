"""Step: drops tasks that overlap with test tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.records import Task
from handaxe.synthesis.draft import SynthesisDraft, digest_of
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept
from handaxe.synthesis.steps.dedupe import normal_words
from handaxe.synthesis.task_drafts import ORIGIN, draft_text, message_text

__all__ = ["decontaminate"]


def decontaminate(tests: Sequence[Task], *, words: int = 8) -> SynthesisStep:
    """Make the step "decontaminate": drops test tasks, and tasks with a part of a test task and the same answer.

        dropped  <=>  the words are those of a test task, or
                      an n-gram of the task is one of a test task with the same answer
        n = words, or the length of the test task if that is shorter
        both hold for the origin of a draft, too: the question and answer that a judging task is about

    Case and signs other than operators are ignored. Templates share n-grams between tasks with different answers, which
    are kept; a template and an answer that agree by chance are dropped.

    Args:
        tests: tasks of every test split.
        words: of an n-gram, 1 or more.

    Returns:
        A step that keeps drafts of kind "task"; without it no pipeline writes tasks.

    Raises:
        InputError: no test task, or words below 1.

    Example:
        test task "4071 boss ally?", answer 1390: "So: 4071 boss ally", answer 1390, is dropped; "4071 boss?" is kept

    Idea: the n-gram decontamination of training corpora, with the answer as a second condition.
    """
    if not tests:
        raise InputError("decontamination has no test tasks to compare with; give the test split of the world")
    if words < 1:
        raise InputError(f"an n-gram has 1 word or more, not {words}")
    texts = ["\n".join(one.content for one in task.messages if one.role != "system") for task in tests]
    whole = {tuple(normal_words(text)) for text in texts}
    by_answer: dict[str, dict[int, set[tuple[str, ...]]]] = defaultdict(lambda: defaultdict(set))
    for task, text in zip(tests, texts, strict=True):
        tokens = normal_words(text)
        size = min(words, len(tokens))
        for answer in _answers(task.answer):
            by_answer[answer][size].update(_ngrams(tokens, size))

    def reason(text: str, answers: Any) -> str:
        tokens = normal_words(text)
        if tuple(tokens) in whole:
            return "a test task"
        for answer in _answers(answers):
            for size, known in by_answer[answer].items() if answer in by_answer else ():
                if not known.isdisjoint(_ngrams(tokens, size)):
                    return "part of a test task with its answer"
        return ""

    def one(draft: SynthesisDraft) -> DraftOutcome:
        found = reason(draft_text(draft), draft.payload["answer"])
        if not found and (origin := draft.payload.get(ORIGIN)) is not None:
            found = reason(message_text(origin["messages"]), origin["answer"])
        return dropped(found) if found else kept(draft)

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        del at
        return [one(draft) for draft in drafts]

    digest = digest_of(sorted([text, sorted(_answers(task.answer))] for task, text in zip(tests, texts, strict=True)))
    settings = {"tests": len(tests), "digest": digest, "words": words}
    return SynthesisStep("decontaminate", run, settings=settings, decontaminates=True)


def _answers(answer: Any) -> set[str]:
    found = answer if isinstance(answer, list | tuple) else [answer]
    return {" ".join(normal_words(str(one))) for one in found}


def _ngrams(tokens: Sequence[str], size: int) -> set[tuple[str, ...]]:
    return {tuple(tokens[k : k + size]) for k in range(len(tokens) - size + 1)} if size else set()
