"""An expert that first makes a wrong call, reads what comes of it, and then does what is right."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from handaxe.core.records import Message, Task, ToolCall
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.parts.demonstration_noise import lose
from handaxe.worlds.world import Expert, Facts

__all__ = ["Wrong", "lost_digit", "with_mistakes"]

Wrong = Callable[[Task, ToolCall, random.Random], ToolCall | None]
"""(task, right call, draws) -> a wrong call of the same kind; None where there is none."""


def lost_digit(task: Task, call: ToolCall, rng: random.Random) -> ToolCall | None:
    """The call with one digit or word of its arguments less; None where there is none to lose.

    Example:
        calculator 12*34 -> calculator 1*34, or calculator 12*3
    """
    del task
    arguments = lose(call.arguments, rng)
    return None if arguments is None else replace(call, arguments=arguments)


def with_mistakes(expert: Expert, *, wrong: Wrong = lost_digit, share: float = 1.0, seed: int = 0) -> Expert:
    """Make an expert that begins with a wrong call where the expert begins with a call, and then does as the expert.

        turn 0        wrong(task, the expert's first call), on that share of tasks, and only where there is one
        turn n > 0    what the expert says in turn n - 1; in turn 1 it is shown no reply, as if nothing had been tried

    The tool really answers the wrong call. Whether a task is begun wrongly, and how, depends on its id and `seed`
    alone, so that there is no state and the answer is as right as the expert's. What the environment says of its state
    (EnvReply.facts) is handed on as it is.

    Args:
        expert: what is right.
        wrong: makes the wrong call of the right one.
        share: of the tasks that the expert begins with a call, 0 to 1.
        seed: of which tasks, and of how.

    Example:
        an expert that asks calculator 12*34 and says 408 now asks calculator 1*34, then calculator 12*34, and says 408

    Paper: arXiv:2512.14157 (Ophiuchus), the second stage of its training.
    Differs: its wrong regions are those of a model; here they are drawn.
    Unconfirmed: how many conversations hold a mistake.
    """

    def mistake(task: Task, facts: Facts) -> Message | None:
        """What is said in turn 0 instead of what the expert says; None where it is that."""
        opening = {"turn": 0, "replies": [], "statuses": [], "tools": facts["tools"], "sure": facts.get("sure", True)}
        right = expert(task, opening)
        rng = random.Random(derive_seed("mistake", seed, task.id))
        if not right.calls or rng.random() >= share:
            return None
        call = wrong(task, right.calls[0], rng)
        return None if call is None else replace(right, calls=(call,))

    def speaker(task: Task, facts: Facts) -> Message:
        first = mistake(task, facts)
        if first is None:
            return expert(task, facts)
        if facts["turn"] == 0:
            return first
        unseen: Facts = {"replies": [], "statuses": []} if facts["turn"] == 1 else {}
        return expert(task, {**facts, **unseen, "turn": facts["turn"] - 1})

    return speaker
