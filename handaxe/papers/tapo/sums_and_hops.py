"""Questions to be reckoned and questions to be looked up, in one conversation with both tools."""

from __future__ import annotations

from dataclasses import replace

from handaxe.core.records import Message, Task
from handaxe.envs.tool_chat import tool_chat
from handaxe.rewards.by_task import by_task
from handaxe.worlds.hops.world import hops
from handaxe.worlds.parts.call_metrics import USED_TOOLS
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.search_tools import answers_in_words
from handaxe.worlds.sums import kept_calls, sums
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["sums_and_hops"]

START = Start(DemonstrationNoise(needed=0.7, needless=0.5, clumsy=0.1), skill=250, steps=40, batch_size=16)


def sums_and_hops(*, size: int = 200, world_seed: int = 0) -> World:
    """Easy and hard sums and facts that one search finds, in turn; a calculator and a search are there for all of them.

    Args:
        size: people of whom questions ask, 16 to 900.
        world_seed: of the facts.

    Returns:
        A world broken down by "kind": easy or hard, as in `sums`, or fact, a question of `hops` of one hop. Right is
        what is right in the world that a question is from. Gauge used_tools.

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).

    Example:
        "3+4=?" -> "7", "12*34=?" -> "408" by the calculator, "4071 boss?" -> "5526" by a search

    Idea: the mix of calculations and facts of TAPO's data, arXiv:2510.07038.
    """
    reckoned, looked_up = sums(), hops(lengths=(1,), size=size, world_seed=world_seed)
    worlds = {"easy": reckoned, "hard": reckoned, "fact": looked_up}

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        left = [_told(one, one.metadata["difficulty"]) for one in reckoned.tasks(split, count, seed)]
        right = [_told(one, "fact") for one in looked_up.tasks(split, count, seed)]
        return [(left if number % 3 else right)[number] for number in range(count)]

    def expert(task: Task, facts: Facts) -> Message:
        said: Message = worlds[task.metadata["kind"]].need("expert")(task, facts)
        return said

    return World(
        name="sums_and_hops",
        tasks=tasks,
        env=tool_chat,
        correct=by_task(key="kind", rewards={kind: world.correct for kind, world in worlds.items()}),
        tools=(*reckoned.tools, *looked_up.tools),
        by=("kind",),
        answered=answers_in_words,
        reference=kept_calls,
        expert=expert,
        start=START,
        gauges={"used_tools": USED_TOOLS},
    )


def _told(task: Task, kind: str) -> Task:
    return replace(task, metadata={**task.metadata, "kind": kind})
