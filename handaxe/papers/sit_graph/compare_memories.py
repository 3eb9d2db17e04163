"""Play conversations with a memory, and measure success and wrong tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.protocols import ChatFormat, Engine
from handaxe.core.records import Group, Sampling, Task, Trajectory
from handaxe.papers.sit_graph.advised_env import Adviser, ToolStep
from handaxe.papers.sit_graph.advised_orders import TOOLS, advised_orders, correct_tool, no_advice
from handaxe.papers.sit_graph.memories import Memory
from handaxe.rollouts.driver.play_tasks import play_tasks
from handaxe.rollouts.linear import linear

__all__ = ["OrderPlayer", "fill_memory", "play_online", "steps_of", "success_and_errors", "wrong_tools"]


class OrderPlayer(NamedTuple):
    """Frozen policy, and limits of a conversation."""

    engine: Engine
    format: ChatFormat
    requests: tuple[int, ...] = (1,)
    max_turns: int = 7
    max_tokens: int = 160
    temperature: float = 0.4

    def play(self, tasks: Sequence[Task], adviser: Adviser, *, seed: int) -> list[Trajectory]:
        """Play each task once with suggestions; equal seeds give equal draws."""
        world = advised_orders(adviser=adviser, requests=self.requests)
        return play_tasks(
            tasks,
            env=world.env(world.tools),
            rollout=linear(max_turns=self.max_turns),
            engine=self.engine,
            format=self.format,
            sampling=Sampling(max_tokens=self.max_tokens, temperature=self.temperature),
            seed=seed,
        )

    def succeeded(self, one: Trajectory) -> bool:
        """Return the verdict of the world's rule."""
        world = advised_orders(adviser=no_advice, requests=self.requests)
        return float(world.correct(Group(one.task, (one,))).outcome[0]) > 0.5


def steps_of(one: Trajectory) -> tuple[ToolStep, ...]:
    """Return the steps of a conversation, from the facts of its last turn with a reply."""
    noted = [turn.facts["steps"] for turn in one.turns if turn.facts and "steps" in turn.facts]
    return tuple(ToolStep(*step) for step in noted[-1]) if noted else ()


def wrong_tools(one: Trajectory) -> tuple[int, int]:
    """Count the choices of a conversation that differ from the shop's rules, and all choices.

    A choice is a step after a look at an order.

    Example:
        look, return of a pending order, answer  ->  (1, 1)
    """
    steps = steps_of(one)
    places = [n for n in range(1, len(steps)) if steps[n - 1].tool == TOOLS[0] and steps[n].tool != TOOLS[0]]
    return sum(steps[n].tool != correct_tool(one.task, steps[:n]) for n in places), len(places)


def fill_memory(memory: Memory, played: Sequence[Trajectory], player: OrderPlayer) -> int:
    """Add the successful trajectories to a memory; returns their number."""
    good = [one for one in played if player.succeeded(one)]
    for one in good:
        memory.add(one.task, steps_of(one))
    return len(good)


def play_online(
    player: OrderPlayer, tasks: Sequence[Task], memory: Memory, *, chunk: int, seed: int
) -> list[list[Trajectory]]:
    """Play a stream of tasks in chunks; the successful trajectories of a chunk join the memory after it.

    Args:
        player: policy.
        tasks: stream.
        memory: may be empty.
        chunk: tasks between two updates of the memory.
        seed: of the rollouts.

    Returns:
        The trajectories of each chunk.

    Paper: arXiv:2512.07287 (SIT-Graph), online mode.
    Differs: the environment's rule decides success instead of a language model, and updates come after chunks.
    """
    found = []
    for start in range(0, len(tasks), chunk):
        played = player.play(tasks[start : start + chunk], memory, seed=seed)
        fill_memory(memory, played, player)
        found.append(played)
    return found


def success_and_errors(player: OrderPlayer, played: Sequence[Trajectory]) -> tuple[float, float]:
    """Return the share of successful conversations, and the share of wrong choices; NaN without a choice."""
    counts = np.array([wrong_tools(one) for one in played], np.float64).sum(axis=0)
    success = float(np.mean([player.succeeded(one) for one in played]))
    return success, float(counts[0] / counts[1]) if counts[1] else np.nan
