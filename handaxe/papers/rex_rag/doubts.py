"""Expert wrapper that adds doubts before repeated calls, for teaching a policy the continuation of a doubt."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.world import Expert, Facts

__all__ = ["add_doubts"]


def add_doubts(expert: Expert, *, doubts: Sequence[str], share: float = 0.5, seed: int = 0) -> Expert:
    """Wrap an expert: add a doubt as text before some of its calls after the first turn.

        turn 0        the expert's message
        turn n > 0    the expert's message; if it is a call, with a doubt as text, on that share of turns

    A small policy has never doubted, and continues at random after words forced into its turn
    (`papers.rex_rag.resample_with_prefix`); these demonstrations show another call after a doubt. Task, turn and `seed`
    alone decide which turns have a doubt, and which doubt.

    Args:
        expert: correct behaviour. Its turns with calls have no text.
        doubts: texts, one of which is drawn evenly.
        share: share of the calling turns after the first, 0 to 1.
        seed: seed of the draws.

    Raises:
        InputError: no doubt, or share outside [0, 1].

    Example:
        doubts ["hm "], share 1: search "4071 boss", then "hm " and search "5526 ally", then "1390"
    """
    if not doubts or not 0 <= share <= 1:
        raise InputError(f"add_doubts has doubts={list(doubts)} and share={share}; give one or more, and 0 to 1")

    def speaker(task: Task, facts: Facts) -> Message:
        message = expert(task, facts)
        rng = random.Random(derive_seed("doubt", seed, task.id, facts["turn"]))
        if facts["turn"] == 0 or not message.calls or rng.random() >= share:
            return message
        return replace(message, content=rng.choice(list(doubts)))

    return speaker
