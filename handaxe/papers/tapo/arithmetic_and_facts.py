"""Arithmetic and facts, each with a calculator and a search tool."""

from __future__ import annotations

from dataclasses import replace

from handaxe.core.records import Task
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.hops.world import hops
from handaxe.worlds.mixture import PART, mixture
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.call_metrics import USED_TOOLS
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.world import DemonstrationNoise, Split, Start, World

__all__ = ["arithmetic_and_facts"]

START = Start(
    DemonstrationNoise(call_rate=0.7, spurious_rate=0.5, corrupt_rate=0.1), skill=250, steps=40, batch_size=16
)


def arithmetic_and_facts(*, size: int = 200, world_seed: int = 0) -> World:
    """A cycle of one fact and two arithmetic questions, all with a calculator and a search tool.

    Args:
        size: people with facts, 16 to 900.
        world_seed: seed of the facts.

    Returns:
        A world broken down by "kind": easy or hard, as in `arithmetic`, or fact, a question of `hops` with one hop. An
        answer is correct if it is correct in the world of its question. Gauge: used_tools.

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).

    Example:
        "3+4=?" -> "7"; "12*34=?" -> "408" by the calculator; "4071 boss?" -> "5526" by a search

    Idea: the mix of calculations and facts in TAPO's data, arXiv:2510.07038.
    """
    parts = {"fact": hops(lengths=(1,), size=size, world_seed=world_seed), "arithmetic": arithmetic()}
    mixed = mixture(parts, weights={"fact": 1, "arithmetic": 2}, name="arithmetic_and_facts", dense=False)

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        return [_with_kind(one) for one in mixed.tasks(split, count, seed)]

    return replace(
        mixed,
        tasks=tasks,
        curriculum=None,
        tools=(*parts["arithmetic"].tools, *parts["fact"].tools),
        breakdown=("kind",),
        is_answer=is_text_answer,
        reference=reference_calls,
        start=START,
        gauges={"used_tools": USED_TOOLS},
    )


def _with_kind(task: Task) -> Task:
    kind = "fact" if task.metadata[PART] == "fact" else task.metadata["difficulty"]
    return replace(task, metadata={**task.metadata, "kind": kind})
