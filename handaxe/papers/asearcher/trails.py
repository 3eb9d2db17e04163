"""Search trails of unknown length: each passage names the next one, until one names the answer."""

from __future__ import annotations

import random
from functools import lru_cache

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.exact_match import exact_match
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.parts.search_tools import reference_searches, search_tool
from handaxe.worlds.world import DemonstrationNoise, Split, Start, World

__all__ = ["trail_documents", "trails"]

LENGTHS = (1, 2, 3, 5, 8, 12)
LONGEST = 20
START = Start(DemonstrationNoise(call_rate=0.85, corrupt_rate=0.03), skill=70, steps=20, batch_size=12)
NEXT = "to"
END = "end"


def trails(*, lengths: tuple[int, ...] = LENGTHS, size: int = 400, world_seed: int = 0) -> World:
    """Questions with a search trail of unknown length to the answer.

    A passage names the next number to search for, or the answer after "end". The rollouts of a batch differ in length
    by a factor of ten, and a limit of turns below the length of a trail leaves its task unsolved.

    Args:
        lengths: searches of a trail, each 1 to 20; drawn evenly.
        size: number of trails, 40 to 400; a quarter is in test.
        world_seed: seed of the trails.

    Returns:
        A world broken down by "length", scored by exact match. Gauges: turns; long (share of rollouts with more than
        ten turns).

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).

    Example:
        "4071?": search {"query": "4071"} finds "[4071] to5526", search {"query": "5526"} finds "[5526] end1390"; answer
        "1390"

    Idea: long-horizon search with a policy that only copies, for arXiv:2508.07976 (ASearcher).
    """
    if not lengths or not all(1 <= one <= LONGEST for one in lengths) or not 40 <= size <= 400:
        raise InputError(f"give lengths from 1 to {LONGEST} and a size from 40 to 400, not {list(lengths)} and {size}")
    made = _numbers(size, world_seed)
    test = {k for k in range(size) if derive_seed("trail split", world_seed, k) % 4 == 0}

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        mine = [own for k, own in enumerate(made) if (k in test) == (split == "test")]
        return [_task(mine, lengths, split, seed, number) for number in range(count)]

    return World(
        name="trails",
        tasks=tasks,
        env=tool_chat,
        correct=exact_match(),
        tools=(search_tool(trail_documents(made), world="trails", results=1, snippet=40),),
        breakdown=("length",),
        is_answer=is_text_answer,
        reference=reference_calls,
        expert=calls_then_answer(reference_searches),
        start=START,
        start_turns=LONGEST + 1,
        start_context=1024,
        gauges={
            "turns": RatioMetric(lambda one, _: float(len(one.turns))),
            "long": RatioMetric(lambda one, _: float(len(one.turns) > 10)),
        },
    )


def trail_documents(made: tuple[tuple[str, ...], ...]) -> list[dict[str, str]]:
    """Documents of trails: a passage for each number but the last, which is the answer.

    The word before a number makes both one word, which a search for the number does not find.

    Example:
        4071, 5526, 1390  ->  "4071": "to5526" and "5526": "end1390"
    """
    return [
        {"id": own[k], "title": own[k], "text": f"{END if k == len(own) - 2 else NEXT}{own[k + 1]}"}
        for own in made
        for k in range(len(own) - 1)
    ]


@lru_cache(maxsize=4)
def _numbers(size: int, seed: int) -> tuple[tuple[str, ...], ...]:
    """Trails of the longest length: different numbers of five digits, the last of which is the answer."""
    rng = random.Random(derive_seed("trails", seed))
    numbers = [str(one) for one in rng.sample(range(10_000, 100_000), size * (LONGEST + 1))]
    return tuple(tuple(numbers[k * (LONGEST + 1) : (k + 1) * (LONGEST + 1)]) for k in range(size))


def _task(mine: list[tuple[str, ...]], lengths: tuple[int, ...], split: Split, seed: int, number: int) -> Task:
    """A suffix of a trail: a trail is entered at the number from which the answer is `length` searches away."""
    rng = random.Random(derive_seed("trail", split, seed, number))
    own, length = rng.choice(mine), rng.choice(lengths)
    steps = own[len(own) - 1 - length : -1]
    calls = [{"name": "search", "arguments": {"query": one}} for one in steps]
    metadata = {"length": length, "gold_calls": calls}
    return Task(f"trail-{split}-{seed}-{number}", (Message("user", f"{steps[0]}?"),), own[-1], None, metadata)
