"""An expert that now and then doubts aloud before it calls once more, for teaching a policy what doubt leads to."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.world import Expert, Facts

__all__ = ["with_doubts"]


def with_doubts(expert: Expert, *, doubts: Sequence[str], share: float = 0.5, seed: int = 0) -> Expert:
    """Make an expert that does as the expert does, and says a doubt before some of its calls after the first.

        turn 0        what the expert says
        turn n > 0    what the expert says; where that is a call, on that share of turns with a doubt before it

    A small policy has never doubted, and goes on at random after words that are put into its mouth
    (`papers.rex_rag.resample_with_prefix`); demonstrations of this expert show it that another call comes after them.
    Whether a turn is doubted, and how, depends on task, turn and `seed` alone.

    Args:
        expert: what is right. A turn of its that calls has no text.
        doubts: what is said, one of them drawn evenly.
        share: of the turns after the first that call, 0 to 1.
        seed: of the draws.

    Raises:
        InputError: no doubt to say, or a share out of [0, 1].

    Example:
        doubts ["hm "], share 1: search "4071 boss", then "hm " and search "5526 ally", then "1390"
    """
    if not doubts or not 0 <= share <= 1:
        raise InputError(f"with_doubts has doubts={list(doubts)} and share={share}; give one or more, and 0 to 1")

    def speaker(task: Task, facts: Facts) -> Message:
        said = expert(task, facts)
        rng = random.Random(derive_seed("doubt", seed, task.id, facts["turn"]))
        if facts["turn"] == 0 or not said.calls or rng.random() >= share:
            return said
        return replace(said, content=rng.choice(list(doubts)))

    return speaker
