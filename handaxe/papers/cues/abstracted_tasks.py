"""Tasks abstracted from windows of an exploration, with a confidence and a guideline, and their rewrites with hints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.records import Task, Trajectory

__all__ = ["AbstractedTask", "abstracted_tasks", "with_hint"]


class AbstractedTask(NamedTuple):
    """A task, whose reference calls are the guideline, and the confidence of the abstraction, from 0 to 1."""

    task: Task
    confidence: float


def abstracted_tasks(
    explored: Trajectory, propose: Callable[[Trajectory], Sequence[Task]], *, window: int = 12
) -> list[AbstractedTask]:
    """Propose tasks of each window of consecutive turns.

        confidence = share of the guideline's calls that the explorer made in the window

    A search shows other facts beside the one that it asked for, so a chain may hold calls that were never made.

    Args:
        explored: of an exploration.
        propose: `world.exploration.propose`.
        window: turns, 1 or more; 12 in the released code.

    Returns:
        Tasks in the order of windows.

    Raises:
        InputError: window below 1.

    Example:
        the searches "4071 boss" and "5526 ally" were made: "4071 boss ally?" has confidence 1; with the first search
        alone, whose reply also shows 5526 ally 1390: 0.5

    Paper: arXiv:2512.01311 (CuES), task abstraction.
    Unconfirmed: how the confidence is found, which a language model states in the paper.
    Differs: a rule of the world proposes.
    """
    if window < 1:
        raise InputError(f"window is {window}; give 1 turn or more")
    found = []
    for start in range(0, len(explored.turns), window):
        part = replace(explored, turns=explored.turns[start : start + window])
        made = {(call.name, str(sorted(call.arguments.items()))) for call in part.calls}
        for task in propose(part):
            calls = task.metadata["gold_calls"]
            known = [(one["name"], str(sorted(one["arguments"].items()))) in made for one in calls]
            found.append(AbstractedTask(task, sum(known) / len(known)))
    return found


def with_hint(task: Task, reveal: int) -> Task:
    """Reveal the first steps of the guideline in the question.

    Args:
        task: with reference searches in "gold_calls" and their results in "gold_answers".
        reveal: steps, from 0 and fewer than there are.

    Returns:
        The task with the facts behind the question, and the reference calls of the other steps; the answer stays.

    Raises:
        InputError: `reveal` out of range.

    Example:
        "4071 boss ally?", reveal 1 -> "4071 boss ally? 4071 boss 5526"

    Paper: arXiv:2512.01311 (CuES), rewrites that reveal more or less of the guideline.
    Differs: a rule writes the hint.
    """
    calls, answers = task.metadata["gold_calls"], task.metadata["gold_answers"]
    if not 0 <= reveal < len(calls):
        raise InputError(f"a guideline of {len(calls)} steps has 0 to {len(calls) - 1} to reveal, not {reveal}")
    if not reveal:
        return task
    shown = [f"{call['arguments']['query']} {answer}" for call, answer in zip(calls, answers, strict=True)][:reveal]
    message = replace(task.messages[-1], content=f"{task.messages[-1].content} {', '.join(shown)}")
    kept = {key: task.metadata[key][reveal:] for key in ("path", "gold_documents", "gold_answers", "gold_calls")}
    metadata = {**task.metadata, **kept, "hops": len(calls) - reveal, "revealed": reveal}
    return replace(task, id=f"{task.id}-{reveal}", messages=(*task.messages[:-1], message), metadata=metadata)
