"""Memories as advisers: the tool graph, and a memory of whole trajectories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from handaxe.core.records import Task
from handaxe.ops.text_store import Embed, TextStore
from handaxe.papers.sit_graph.advised_env import START, ToolStep
from handaxe.papers.sit_graph.tool_graph import StateToolGraph

__all__ = ["GraphMemory", "Memory", "TrajectoryMemory"]


class Memory(Protocol):
    """Memory of successful trajectories that suggests next tools."""

    def add(self, task: Task, steps: Sequence[ToolStep]) -> None:
        """Add a successful trajectory."""
        ...

    def __call__(self, task: Task, steps: Sequence[ToolStep], summary: str) -> tuple[str, ...]:
        """Suggest next tools; an `Adviser`."""
        ...


class GraphMemory:
    """Suggestions of a `StateToolGraph`.

    Example:
        GraphMemory(StateToolGraph(embed))(task, (ToolStep("get_order_details"),), "pending ordered by mistake")
    """

    def __init__(self, graph: StateToolGraph):
        self.graph = graph

    def add(self, task: Task, steps: Sequence[ToolStep]) -> None:
        del task
        self.graph.add(steps)

    def __call__(self, task: Task, steps: Sequence[ToolStep], summary: str) -> tuple[str, ...]:
        del task
        return self.graph.suggest(steps[-1].tool if steps else START, summary)


class TrajectoryMemory:
    """Suggestions of the successful trajectory with the most similar task: its tool in the place of the next step.

    Example:
        nearest trajectory get, cancel, answer; after one step it suggests cancel, after three steps nothing

    Idea: retrieval of whole trajectories by the task's text is the common memory of agents, and a baseline of
    arXiv:2512.07287 (SIT-Graph).
    """

    def __init__(self, embed: Embed):
        self._store = TextStore(embed)
        self._steps: list[tuple[ToolStep, ...]] = []

    def add(self, task: Task, steps: Sequence[ToolStep]) -> None:
        self._store.add(_asked(task))
        self._steps.append(tuple(steps))

    def __call__(self, task: Task, steps: Sequence[ToolStep], summary: str) -> tuple[str, ...]:
        del summary
        nearest = self._store.nearest(_asked(task), k=1)
        found = self._steps[nearest[0].number] if nearest else ()
        return (found[len(steps)].tool,) if len(steps) < len(found) else ()


def _asked(task: Task) -> str:
    return " ".join(message.content for message in task.messages if message.role == "user")
