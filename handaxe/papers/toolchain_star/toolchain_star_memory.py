"""Study: ToolChain* with few demonstrations, with a memory that solved tasks extend, and with many demonstrations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.core.records import Task
from handaxe.methods.lookup import find
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import interval_figures
from handaxe.papers.toolchain_star.compare_searches import Search, Searched, compare_searches, plan_search, play_search
from handaxe.papers.toolchain_star.grown_memory import grown_memory
from handaxe.papers.toolchain_star.plan_steps import Plan, plan_steps
from handaxe.training.sft.cold_start import demonstrations, start_policy
from handaxe.worlds.world import World

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["toolchain_star_memory"]

WORLD = "journeys"
TURNS = 7
"""Of its longest expert rollout."""
CANDIDATES = 4
MAX_TOKENS = 64
GROWTH_SEED = 2
"""Of the tasks that extend the memory; the demonstrations have another one."""


def toolchain_star_memory(
    *, tasks: int = 16, seeds: int = 8, calls: int = 12, demonstrated: int = 2, solved: int = 64
) -> StudyFunction:
    """Measure A* in `journeys` with three memories, on held-out tasks and at equal calls.

        few     plans of `demonstrated` demonstrations
        grown   the same, extended by solved tasks of the training split, see `grown_memory`
        many    plans of as many demonstrations as the grown memory has plans

    Figures:
        MEMORY, MEMORY/calls, MEMORY/plans    pass@1, executed calls a task, and size of the memory
        gain/few, gain/many                   pass@1 of grown less that of the other, mean over seeds, with /low and
                                              /high of the 95 % interval
        solved                                share of the training tasks that extended the memory

    Args:
        tasks: of a seed.
        seeds: of held-out tasks and rollouts, from the study's seed on.
        calls: budget of a task.
        demonstrated: demonstrations of the small memory.
        solved: training tasks that are tried for the memory.

    Example:
        2 demonstrations and 30 of 64 tasks solved  ->  solved 0.469, grown/plans 32

    Paper: arXiv:2310.13227 (ToolChain*), the extension of the long-term memory.
    Differs: see `grown_memory`.
    """

    def measure(seed: int) -> dict[str, float]:
        world: World = find("worlds", WORLD)()
        policy = start_policy(world)
        play: dict[str, Any] = {
            "world": world,
            "engine": local.LocalEngine(policy.model),
            "format": policy.format,
            "calls": calls,
            "max_tokens": MAX_TOKENS,
        }

        def search(memory: Sequence[Plan]) -> Search:
            return plan_search(memory, candidates=CANDIDATES, calls=calls, max_turns=TURNS)

        def solve(memory: Sequence[Plan], own: Sequence[Task]) -> list[Searched]:
            return play_search(search(memory), [(GROWTH_SEED, task) for task in own], **play)

        few = _demonstrated(world, demonstrated)
        grown = grown_memory(few, world.tasks("train", solved, GROWTH_SEED), solve)
        memories = {"few": few, "grown": grown, "many": _demonstrated(world, len(grown))}
        searches = {name: search(memory) for name, memory in memories.items()}
        found = compare_searches(searches, seeds=range(seed, seed + seeds), count=tasks, **play)
        return _figures(found, memories) | {"solved": (len(grown) - len(few)) / solved}

    return measure


def _demonstrated(world: World, count: int) -> list[Plan]:
    """Plans of demonstrations; a larger number begins with the plans of a smaller one."""
    tasks = world.tasks("train", count, 1)
    return [plan_steps(one) for one in demonstrations(world, world.env(world.tools), tasks, count=count, seed=1)]


def _figures(found: dict[str, dict[str, np.ndarray]], memories: dict[str, list[Plan]]) -> dict[str, float]:
    figures = dict[str, float]()
    for name, own in found.items():
        figures |= {name: float(own["pass@1"].mean()), f"{name}/calls": float(own["calls"].mean())}
        figures[f"{name}/plans"] = float(len(memories[name]))
    for name in ("few", "many"):
        figures |= interval_figures(f"gain/{name}", found["grown"]["pass@1"] - found[name]["pass@1"])
    return dict(sorted(figures.items()))
