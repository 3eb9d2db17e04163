"""SIT-Graph (arXiv:2512.07287): suggest next tools from a graph of tools with summaries of states on its edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.core.records import Task
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import interval_figures
from handaxe.ops.text_store import Embed
from handaxe.papers.sit_graph.advised_env import Adviser
from handaxe.papers.sit_graph.advised_orders import advised_orders, no_advice, noisy_adviser
from handaxe.papers.sit_graph.compare_memories import OrderPlayer, fill_memory, play_online, success_and_errors
from handaxe.papers.sit_graph.memories import GraphMemory, Memory, TrajectoryMemory
from handaxe.papers.sit_graph.tool_graph import StateToolGraph
from handaxe.tools.index.dense import embed
from handaxe.training.sft.cold_start import demonstrations, start_policy

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["sit_graph"]

TAUGHT = (1, 1, 2)
"""Numbers of requests of the cold start's demonstrations."""


def sit_graph(*, seeds: int = 5, stream: int = 24, tasks: int = 16, chunk: int = 8) -> StudyFunction:
    """Compare memories of successful conversations with a frozen policy, in orders of tau2's retail shop.

    Every memory gets the same conversations of the shop's expert on training tasks, and then stays as it is on held-out
    tasks. In the online mode the graph begins empty and grows with the policy's own successes.

    Figures:
        MEMORY              pass@1 on held-out tasks; none, trajectories (the most similar conversation), weights (the
                            graph without episodes) and graph
        MEMORY/wrong        share of wrong choices after a look at an order
        gain/MEMORY         pass@1 of the graph less that of the memory, mean over seeds; /low and /high are the ends of
                            its 95 % interval. Likewise gain_wrong, wrong choices of the memory less those of the graph
        stored              conversations in the memories
        online/first, online/last    pass@1 in the first and the last chunk of the stream
        online/gain         pass@1 of the online graph in the last half of the stream less that without a memory there

    Args:
        seeds: of tasks and rollouts, from the study's seed on.
        stream: training tasks of a seed.
        tasks: held-out tasks of a seed.
        chunk: tasks between two updates of the online graph.
    """

    def measure(seed: int) -> dict[str, float]:
        taught = advised_orders(adviser=noisy_adviser, requests=TAUGHT, guesses=True)
        policy = start_policy(taught)
        player = OrderPlayer(local.LocalEngine(policy.model), policy.format)
        runs = [_one_seed(player, number, stream, tasks, chunk) for number in range(seed, seed + seeds)]
        return _figures({key: np.array([run[key] for run in runs]) for key in runs[0]})

    return measure


def make_memories(embed: Embed) -> dict[str, Memory]:
    """Make the compared memories, empty."""
    return {
        "trajectories": TrajectoryMemory(embed),
        "weights": GraphMemory(StateToolGraph(embed, episodes=False)),
        "graph": GraphMemory(StateToolGraph(embed)),
    }


def _one_seed(player: OrderPlayer, seed: int, stream: int, tasks: int, chunk: int) -> dict[str, float]:
    world = advised_orders(adviser=no_advice, requests=player.requests)
    learned, held_out = world.tasks("train", stream, seed), world.tasks("test", tasks, seed)
    shown = demonstrations(world, world.env(world.tools), learned, count=stream, seed=seed, context=2048)
    advisers: dict[str, Adviser] = {"none": no_advice}
    figures = dict[str, float]()
    for name, memory in make_memories(embed).items():
        figures["stored"] = float(fill_memory(memory, shown, player))
        advisers[name] = memory
    for name, adviser in advisers.items():
        success, wrong = success_and_errors(player, player.play(held_out, adviser, seed=seed))
        figures |= {name: success, f"{name}/wrong": wrong}
    return figures | _online(player, learned, chunk, seed)


def _online(player: OrderPlayer, learned: Sequence[Task], chunk: int, seed: int) -> dict[str, float]:
    chunks = play_online(player, learned, GraphMemory(StateToolGraph(embed)), chunk=chunk, seed=seed)
    success = [success_and_errors(player, own)[0] for own in chunks]
    late = len(chunks) // 2
    alone = player.play(learned, no_advice, seed=seed)
    without = success_and_errors(player, alone[late * chunk :])[0]
    return {
        "online/first": success[0],
        "online/last": success[-1],
        "online/gain": success_and_errors(player, [one for own in chunks[late:] for one in own])[0] - without,
    }


def _figures(found_S: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Means over seeds, and paired differences of the graph to the other memories."""
    figures = {key: float(np.nanmean(own)) for key, own in found_S.items() if key != "online/gain"}
    for name in ("none", "trajectories", "weights"):
        figures |= interval_figures(f"gain/{name}", found_S["graph"] - found_S[name])
        wrong_S = found_S[f"{name}/wrong"] - found_S["graph/wrong"]
        figures |= interval_figures(f"gain_wrong/{name}", wrong_S[np.isfinite(wrong_S)])
    return figures | interval_figures("online/gain", found_S["online/gain"])
