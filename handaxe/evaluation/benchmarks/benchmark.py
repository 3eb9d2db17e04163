"""Definition of a benchmark, with results and table as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from handaxe.core.metrics import TaskResult
from handaxe.worlds.world import World

__all__ = ["ALL", "Benchmark", "BenchmarkPart", "BenchmarkTable", "PartResult"]

ALL = 10_000
"""More tasks than a fixed set of tasks has; bounds a world that generates tasks."""


class BenchmarkPart(NamedTuple):
    """Held-out tasks of one world.

    name   of the row, such as a domain or a category
    world  () -> the world with the settings of the benchmark; raises InputError for a missing package
    limit  most held-out tasks; give a number for a world that generates tasks
    """

    name: str
    world: Callable[[], World]
    limit: int = ALL


class PartResult(NamedTuple):
    """Results of a part.

    tasks    results of the played tasks
    size     number of all held-out tasks of the part, played or not
    context  rollouts without a score because the opening of the task leaves the policy too little context
    """

    tasks: tuple[TaskResult, ...]
    size: int
    context: int


class BenchmarkTable(NamedTuple):
    """A table as data.

    columns  names; the first column is text, the others are numbers
    rows     a text and numbers, None where a figure is undefined
    notes    sentences below the table
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str | float | None, ...], ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """Tasks, limits and table of a benchmark, independent of the policy.

    name         of the table
    parts        in the order of the rows
    table        results by name of part -> table
    trials       rollouts per task
    max_turns    turns per rollout
    max_tokens   tokens per turn
    room         tokens that the policy's context must have left after the opening of a task; a rollout with less is
                 not scored
    temperature  of sampling; 0 is greedy
    """

    name: str
    parts: tuple[BenchmarkPart, ...]
    table: Callable[[Mapping[str, PartResult]], BenchmarkTable]
    trials: int = 1
    max_turns: int = 1
    max_tokens: int = 512
    room: int = 64
    temperature: float = 0.0
