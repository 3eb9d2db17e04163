"""ToolChain* (arXiv:2310.13227): compare A* over the tree of calls with greedy, beam and tree search at equal calls."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.methods.lookup import find
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import interval_figures
from handaxe.papers.toolchain_star.compare_searches import compare_searches, make_searches
from handaxe.papers.toolchain_star.plan_steps import Plan, plan_steps
from handaxe.training.sft.cold_start import demonstrations, start_policy
from handaxe.worlds.world import World

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["toolchain_star"]

TURNS = {"journeys": 7, "toolbox": 5}
"""World -> turns of its longest expert rollout, the maximum of every trajectory."""
MEMORY_SEED = 1
"""Of the demonstrations of the memory, tasks of the training split."""


def toolchain_star(
    *,
    tasks: int = 16,
    seeds: int = 8,
    calls: int = 12,
    candidates: int = 4,
    width: int = 2,
    memory: int = 64,
    max_tokens: int = 64,
) -> StudyFunction:
    """Measure searches with the cold-start checkpoints of `journeys` and `toolbox` on held-out tasks.

    Figures:
        WORLD/SEARCH, WORLD/SEARCH/FIGURE   pass@1, and figures of `compare_searches`
        WORLD/gain/SEARCH                   pass@1 of A* less that of the search, mean over seeds; /low and /high are
                                            the ends of its 95 % interval; likewise gain_calls and gain_turns
        most_calls                          maximum of all rollouts

    Args:
        tasks: of a seed.
        seeds: of tasks and rollouts, from the study's seed on.
        calls: budget of a task.
        candidates: samples of an expansion.
        width: of the beam.
        memory: demonstrations of the memory.
        max_tokens: of a turn.
    """

    def measure(seed: int) -> dict[str, float]:
        figures = dict[str, float]()
        for name in TURNS:
            found = compare_in(find("worlds", name)(), range(seed, seed + seeds))
            figures |= {f"{name}/{key}": value for key, value in _figures(found).items()}
        return _with_largest(figures)

    def compare_in(world: World, own_seeds: Sequence[int]) -> dict[str, dict[str, np.ndarray]]:
        policy, turns = start_policy(world), TURNS[world.name]
        return compare_searches(
            make_searches(_plans(world, memory), candidates=candidates, calls=calls, width=width, max_turns=turns),
            world=world,
            engine=local.LocalEngine(policy.model),
            format=policy.format,
            seeds=own_seeds,
            count=tasks,
            calls=calls,
            max_tokens=max_tokens,
        )

    return measure


def _with_largest(figures: Mapping[str, float]) -> dict[str, float]:
    """Replace the most calls of each search by the most of all."""
    most = max(value for key, value in figures.items() if key.endswith("/most_calls"))
    return {key: value for key, value in figures.items() if "/most_calls" not in key} | {"most_calls": most}


def _plans(world: World, count: int) -> Sequence[Plan]:
    tasks = world.tasks("train", count, MEMORY_SEED)
    played = demonstrations(world, world.env(world.tools), tasks, count=count, seed=MEMORY_SEED)
    return [plan_steps(one) for one in played]


def _figures(found: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, float]:
    """Means over seeds, and paired differences of A* to every other search."""
    figures = {name: float(own["pass@1"].mean()) for name, own in found.items()}
    for name, own in found.items():
        figures |= {f"{name}/{key}": float(own[key].mean()) for key in ("answered", "calls", "turns")}
        figures[f"{name}/most_calls"] = float(own["most_calls"].max())
    for name in found.keys() - {"astar"}:
        for gain, key in (("gain", "pass@1"), ("gain_calls", "calls"), ("gain_turns", "turns")):
            figures |= interval_figures(f"{gain}/{name}", found["astar"][key] - found[name][key])
    return dict(sorted(figures.items()))
