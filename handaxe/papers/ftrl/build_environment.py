"""Integration and complexity scaling of the tools of a scenario, and the task of a built environment."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from handaxe.core.errors import TaskError
from handaxe.core.records import Message, Task
from handaxe.papers.ftrl.environment_writer import ToolCalls
from handaxe.papers.ftrl.local_tools import LocalTool, gives, lookup_code, lookup_rows, merge_pair, with_width
from handaxe.papers.ftrl.sub_steps import Scenario
from handaxe.papers.ftrl.toolchains_tools import RELATIONS
from handaxe.worlds.hops.knowledge_base import KnowledgeBase

__all__ = ["accepted", "built_task", "distractor_tools", "merge_some", "rounds_of", "scale_some", "tools_of"]


def accepted(scenario: Scenario, tools: Sequence[ToolCalls]) -> bool:
    """Test in the sandbox whether every call returns the answer of its sub-question.

    Example:
        boss("4071") -> "5526" for the step ("4071 boss", "5526")

    Paper: arXiv:2508.08791 (FTRL), verification of deployed tools.
    Differs: nothing that is known.
    """
    return all(
        gives(one.tool, list(one.calls.values()), [scenario.steps[k].answer for k in one.calls]) for one in tools
    )


def merge_some(tools: Sequence[ToolCalls], rng: random.Random, *, share: float) -> list[ToolCalls]:
    """Merge the first two mergeable tools, with probability `share`; the calls get the argument "kind".

    Example:
        share 1: boss and heir -> boss_or_heir with the calls {"kind": "boss", "name": "4071"}, ...

    Paper: arXiv:2508.08791 (FTRL), function integration.
    Unconfirmed: how many tools are merged.
    Differs: see `merge_pair`.
    """
    if rng.random() >= share:
        return list(tools)
    for i, first in enumerate(tools):
        for second in tools[i + 1 :]:
            merged = merge_pair(first.tool, second.tool)
            if merged is not None:
                calls = {
                    k: {"kind": one.tool.name, **given} for one in (first, second) for k, given in one.calls.items()
                }
                rest = [one for one in tools if one is not first and one is not second]
                return [ToolCalls(merged, calls), *rest]
    return list(tools)


def scale_some(tools: Sequence[ToolCalls], rng: random.Random, *, share: float) -> list[ToolCalls]:
    """Give each tool an optional parameter, with probability `share`; the calls stay.

    Example:
        share 1: boss(name) -> boss(name, width=0)

    Paper: arXiv:2508.08791 (FTRL), complexity scaling.
    Unconfirmed: how many tools are extended.
    Differs: see `with_width`.
    """
    return [one._replace(tool=with_width(one.tool)) if rng.random() < share else one for one in tools]


def distractor_tools(
    known: KnowledgeBase, taken: Sequence[str], rng: random.Random, *, count: int, share: float
) -> list[LocalTool]:
    """Lookups of relations without a needed tool.

    Example:
        taken ("boss_or_heir",), count 2  ->  tools such as ally and tutor

    Paper: arXiv:2508.08791 (FTRL), irrelevant tools.
    Differs: lookups by rule, also beside tools of a model.
    """
    used = {word for name in taken for word in name.split("_or_")}
    names = rng.sample([one for one in RELATIONS if one not in used], count)
    made = []
    for name in names:
        code = lookup_code(name, lookup_rows(known, name, (), rng))
        tool = LocalTool(name, f"Look up the {name} of a person.", {"name": "of the person"}, code, name)
        made.append(with_width(tool) if rng.random() < share else tool)
    return made


def built_task(scenario: Scenario, tools: Sequence[ToolCalls], others: Sequence[LocalTool], *, name: str = "") -> Task:
    """Make the task of an environment.

    Returns:
        A task with the offered tools in alphabetical order and the metadata of the world `toolchains` (scenario,
        rounds, gold_calls, unsolved, solve_rate, opened), and environment, {tool: fields of `LocalTool`}.

    Example:
        "4071 boss ally?": rounds [[boss("4071")], [ally("5526")]], unsolved {"boss": ["5526"], "ally": ["1390"]}

    Paper: arXiv:2508.08791 (FTRL), built environments.
    Differs: nothing that is known.
    """
    rounds = rounds_of(scenario, tools)
    unsolved = dict[str, list[str]]()
    for one in (one for calls in rounds for one in calls):
        unsolved.setdefault(one["name"], []).append(one["result"])
    offered = sorted([*(one.tool for one in tools), *others])
    metadata: dict[str, Any] = {
        "scenario": scenario.kind,
        "rounds": rounds,
        "gold_calls": [{"name": one["name"], "arguments": one["arguments"]} for calls in rounds for one in calls],
        "unsolved": unsolved,
        "solve_rate": 0.0,
        "opened": 0,
        "environment": {one.name: {**one._asdict(), "optional": dict(one.optional)} for one in offered},
    }
    message = (Message("user", scenario.question),)
    return Task(name, message, scenario.answer, tuple(one.name for one in offered), metadata)


def rounds_of(scenario: Scenario, tools: Sequence[ToolCalls]) -> list[list[dict[str, Any]]]:
    """Calls by round: sub-questions with needs answered in earlier rounds.

    Example:
        steps 0, 1 (needs 0), 2, 3 (needs 2)  ->  [[call 0, call 2], [call 1, call 3]]

    Paper: arXiv:2508.08791 (FTRL), parallel and sequential calls.
    Differs: nothing that is known.
    """
    hops = list[int]()
    for step in scenario.steps:
        hops.append(1 + max((hops[need] for need in step.needs), default=0))
    calls = {
        k: {"name": one.tool.name, "arguments": dict(given), "result": scenario.steps[k].answer}
        for one in tools
        for k, given in one.calls.items()
    }
    return [[calls[k] for k in range(len(hops)) if hops[k] == hop] for hop in range(1, max(hops) + 1)]


def tools_of(task: Task) -> list[LocalTool]:
    """Read the tools of a task's environment.

    Raises:
        TaskError: the task has no tools, or one with missing or unknown fields.
    """
    found = task.metadata.get("environment")
    if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
        raise TaskError(f"task {task.id!r} has no tools; tasks of this world are made by ftrl_environments")
    try:
        return [LocalTool(**one) for one in found.values()]
    except TypeError as error:
        raise TaskError(f"task {task.id!r} has a tool with other fields than {LocalTool._fields}: {error}") from error
