"""Tasks made of what was found by trying an environment out, those that hold when tried again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import ParsedTurn, Task, ToolCall, Trajectory

__all__ = ["Explored", "explored_tasks"]

Propose = Callable[[Trajectory], Sequence[Task]]
"""Tasks that may be made of what an attempt found, each with its answer and its calls of reference."""


class Explored(NamedTuple):
    """What exploring came to. tasks: those kept. proposed: how many there were before. repeated, failed: how many of
    them were left out as asked already, or because their calls did not lead to their answer."""

    tasks: list[Task]
    proposed: int
    repeated: int
    failed: int


def explored_tasks(
    attempts: Iterable[Trajectory],
    *,
    propose: Propose,
    env: EnvFactory,
    known: Sequence[Task] = (),
    answers: Callable[[Task, str], bool] | None = None,
    tries: int = 2,
) -> Explored:
    """Make tasks of what attempts found, and keep those that are new, can be solved, and come out the same again.

        a proposed task is kept  <=>  nothing known and nothing kept before asks the same words, and
                                      its calls of reference, made in each of `tries` new environments, are all
                                      answered without error and alike each time, and the last reply holds its answer

    Args:
        attempts: played without a task, in order.
        propose: says what may be asked of an attempt; the calls of reference stand in metadata["gold_calls"].
        env: of the tasks; every environment that is made is closed.
        known: tasks that there are already.
        answers: (task, text of the last reply) -> whether it holds the answer; None: as a word of its own.
        tries: replays, >= 1; with 1, a reply that changes is not noticed.

    Returns:
        The tasks, in the order in which they were proposed, and how many were left out for what.

    Raises:
        InputError: tries below 1. TaskError: by the environment, for a task that it cannot take.

    Example:
        proposed "4071 boss?" (answer 5526, call search(query='4071 boss')) twice  ->  one task, where the search finds
        "4071 boss 5526" both times; none where it finds something else, or differs, or fails

    Paper: arXiv:2511.10395 (AgentEvolver), its self-questioning: the filter of proposed tasks by replay.
    Unconfirmed: how tasks are compared with each other.
    Differs: a rule proposes and judges, where the paper asks a model; tasks are the same where their words are.
    """
    if tries < 1:
        raise InputError(f"tries is {tries}; give 1 or more")
    holds = answers or _as_word
    asked = {_words(task) for task in known}
    kept: list[Task] = []
    proposed = [task for one in attempts for task in propose(one)]
    repeated = 0
    for task in proposed:
        if _words(task) in asked:
            repeated += 1
            continue
        asked.add(_words(task))
        found = [_replayed(task, env, seed) for seed in range(tries)]
        first = found[0]
        if first and all(one == first for one in found) and holds(task, first[-1]):
            kept.append(task)
    return Explored(kept, len(proposed), repeated, len(proposed) - repeated - len(kept))


def _replayed(task: Task, env: EnvFactory, seed: int) -> list[str]:
    """What the calls of reference are answered; [] where one is not, or there are none."""
    made, said = env(task), list[str]()
    try:
        made.start()
        for k, call in enumerate(task.metadata.get("gold_calls", ())):
            calls = (ToolCall(call["name"], call["arguments"], f"replayed-{k}"),)
            reply = made.step(ParsedTurn("", calls), seed=seed)
            if any(one.status != "ok" for one in reply.replies) or not reply.replies or reply.ending is not None:
                return []
            said.append("\n".join(one.content for one in reply.replies))
    finally:
        made.close()
    return said


def _as_word(task: Task, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(str(task.answer))}(?!\w)", text) is not None


def _words(task: Task) -> str:
    return " ".join(" ".join(one.content for one in task.messages).lower().split())
