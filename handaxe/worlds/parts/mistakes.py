"""Wrapper of experts: an incorrect first call and its correction."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from handaxe.core.records import Message, Task, ToolCall
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.parts.demonstration_noise import corrupt_arguments
from handaxe.worlds.world import Expert, Facts

__all__ = ["MakeMistake", "add_mistakes", "drop_digit"]

MakeMistake = Callable[[Task, ToolCall, random.Random], ToolCall | None]
"""(task, correct call, random numbers) -> an incorrect call; None if there is none."""


def drop_digit(task: Task, call: ToolCall, rng: random.Random) -> ToolCall | None:
    """Remove a digit or word from the arguments of a call. Return None without digits and words to remove.

    Example:
        calculator 12*34 -> calculator 1*34, or calculator 12*3
    """
    del task
    arguments = corrupt_arguments(call.arguments, rng)
    return None if arguments is None else replace(call, arguments=arguments)


def add_mistakes(expert: Expert, *, wrong: MakeMistake = drop_digit, share: float = 1.0, seed: int = 0) -> Expert:
    """Wrap an expert: precede its first call with an incorrect call, in a share of the tasks.

        turn 0        wrong(task, the expert's first call), in that share of the tasks and unless it is None
        turn n > 0    the expert's turn n - 1; in turn 1 the expert sees no tool result

    The tool executes the incorrect call. Task id and `seed` alone decide which tasks begin with a mistake, and which
    mistake: the expert has no state, and its answers stay correct. Facts of the environment (EnvReply.facts) are passed
    on unchanged.

    Args:
        expert: correct behaviour.
        wrong: derives the incorrect call from the correct one.
        share: share of the tasks with a mistake among tasks that begin with a call, 0 to 1.
        seed: seed of the choice.

    Example:
        an expert with calculator 12*34 and answer 408 now calls calculator 1*34, then calculator 12*34, and answers 408

    Paper: arXiv:2512.14157 (Ophiuchus), the second stage of its training.
    Differs: its incorrect regions are those of a model; here they are random.
    Unconfirmed: how many conversations hold a mistake.
    """

    def mistake(task: Task, facts: Facts) -> Message | None:
        """The incorrect first turn; None if the expert's turn is used."""
        opening = {"turn": 0, "replies": [], "statuses": [], "tools": facts["tools"], "sure": facts.get("sure", True)}
        message = expert(task, opening)
        rng = random.Random(derive_seed("mistake", seed, task.id))
        if not message.calls or rng.random() >= share:
            return None
        call = wrong(task, message.calls[0], rng)
        return None if call is None else replace(message, calls=(call,))

    def speaker(task: Task, facts: Facts) -> Message:
        first = mistake(task, facts)
        if first is None:
            return expert(task, facts)
        if facts["turn"] == 0:
            return first
        unseen: Facts = {"replies": [], "statuses": []} if facts["turn"] == 1 else {}
        return expert(task, {**facts, **unseen, "turn": facts["turn"] - 1})

    return speaker
