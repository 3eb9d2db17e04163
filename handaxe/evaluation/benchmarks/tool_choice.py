"""Choice of a few tools from a list of many, before the first call: the planning of TPS-Bench."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, Task, ToolCall
from handaxe.evaluation.benchmarks.compound_tasks import compound_tasks
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.toolbox.box import ChoiceBox
from handaxe.worlds.toolbox.box_env import BoxEnv
from handaxe.worlds.toolbox.catalogue import Catalogue, ToolEntry
from handaxe.worlds.world import Facts, Split, World

__all__ = ["LIMIT", "choice_env", "choice_expert", "choice_reference", "choice_tasks", "tool_list"]

OFFERED = 141
"""Tools of a task's list, as many as the paper's servers have."""
LIMIT = 10
"""Most chosen tools, as in the paper."""
SIMILAR = 5
"""Best results of a step's query; tools among them are in no list, but for the needed ones."""
LONGEST = 80
"""Characters of a description in the list."""
REQUEST = (
    "Choose at most {limit} tools of the list with choose_tools, once; its result has their parameters. Then call them "
    "with call_tool. "
)


def choice_tasks(world: World, catalogue: Catalogue, *, chains: int) -> Callable[[Split, int, int], list[Task]]:
    """Make the field `tasks` of a world: compounding tasks in prose with a list of 141 tools.

    Args:
        world: `toolbox` in prose, with chains.
        catalogue: its tools.
        chains: of a task.

    Returns:
        (split, count, seed) -> tasks; the text ends with the list, metadata "offered" has its names.

    Example:
        the text of a task ends with "Tools", "add_binary_numbers: Add two binary numbers." and 140 further lines

    Paper: arXiv:2511.01527 (TPS-Bench), the choice of at most ten of 141 tools.
    Differs: a list is sampled for each task.
    """
    made = compound_tasks(world, chains=chains, brief=False, request=REQUEST.format(limit=LIMIT))

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        return [_with_list(task, catalogue) for task in made(split, count, seed)]

    return tasks


def tool_list(task: Task, catalogue: Catalogue, *, size: int = OFFERED) -> list[ToolEntry]:
    """Sample the list of a task: its needed tools and random further ones, in the order of their names.

    No further tool has a needed function or is among the five best results of a step's query, so the needed tools are
    the only correct ones.

    Args:
        task: of `compound_tasks`.
        catalogue: all tools.
        size: of the list.

    Raises:
        InputError: the task needs more tools than the list has.
    """
    steps = task.metadata["steps"]
    needed = sorted({step["name"] for step in steps})
    if len(needed) > size:
        raise InputError(f"task {task.id} needs {len(needed)} tools, and its list has {size}")
    functions = {step["function"] for step in steps}
    similar = {entry.name for step in steps for entry in catalogue.find(step["query"], SIMILAR)}
    others = [
        one.name for one in catalogue.entries.values() if one.function not in functions and one.name not in similar
    ]
    drawn = random.Random(derive_seed("tool list", task.id)).sample(others, size - len(needed))
    return [catalogue.entries[name] for name in sorted([*needed, *drawn])]


def choice_env(catalogue: Catalogue, tools: Sequence[Any]) -> EnvFactory:
    """Make the environment of tasks with a list: the tools `choose_tools`, once, and `call_tool`."""

    def make(task: Task) -> Env:
        box = ChoiceBox(catalogue, task.metadata["steps"], offered=task.metadata["offered"], limit=LIMIT)
        return BoxEnv(task, tools, box)

    return make


def choice_expert(task: Task, facts: Facts) -> Message:
    """Choose the needed tools in the first turn, then make one call a turn."""
    if not facts.get("chosen"):
        return Message("assistant", "", (choice_reference(task)[0],))
    made = facts["made"]
    if all(made):
        return Message("assistant", task.answer)
    return Message("assistant", "", (choice_reference(task)[1 + made.index(False)],))


def choice_reference(task: Task) -> tuple[ToolCall, ...]:
    """The choice of the needed tools, and the call of each step."""
    steps = task.metadata["steps"]
    names = sorted({step["name"] for step in steps})
    calls = (ToolCall("call_tool", {"name": one["name"], "arguments": one["arguments"]}) for one in steps)
    return ToolCall("choose_tools", {"names": names}), *calls


def _with_list(task: Task, catalogue: Catalogue) -> Task:
    offered = tool_list(task, catalogue)
    lines = [f"{one.name}: {' '.join(one.document['description'].split())[:LONGEST]}" for one in offered]
    text = "\n".join([task.messages[-1].content, "", "Tools", *lines])
    metadata = {**task.metadata, "offered": [one.name for one in offered]}
    return replace(task, messages=(Message("user", text),), metadata=metadata)
