"""World of built environments: every task brings tools, as Python code for the sandbox."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.papers.ftrl.build_environment import (
    accepted,
    built_task,
    distractor_tools,
    merge_some,
    scale_some,
    tools_of,
)
from handaxe.papers.ftrl.environment_writer import RuleWriter, SeededId
from handaxe.papers.ftrl.local_tools import deploy
from handaxe.papers.ftrl.toolchains import SCENARIOS, toolchains
from handaxe.papers.ftrl.toolchains_tools import RELATIONS
from handaxe.worlds.hops.knowledge_base import build_facts
from handaxe.worlds.jsonl import jsonl
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.world import DemonstrationNoise, Expert, Facts, Split, Start, World

__all__ = ["built_chains"]

START = Start(DemonstrationNoise(call_rate=0.85, corrupt_rate=0.1), skill=400, steps=60)


def built_chains(
    *,
    file: str = "",
    merged: float = 0.5,
    scaled: float = 0.5,
    distractors: int = 2,
    spurious_rate: float = 0.4,
    size: int = 200,
    world_seed: int = 0,
) -> World:
    """Questions of four kinds, with tools written, merged and extended for every task.

    A task is what the pipeline `ftrl_environments` makes by rule, with equal checks by execution.

    Args:
        file: tasks.jsonl of the pipeline, as training tasks; "" makes them here. Test tasks are always made here.
        merged, scaled, distractors: as for the pipeline.
        spurious_rate: share of the expert's calling turns with a call of a distractor; training is to remove it.
        size: people of the facts, 16 to 900; a quarter occurs in test questions alone.
        world_seed: of the facts.

    Returns:
        A world with breakdown, gauges and metadata of `toolchains`.

    Raises:
        InputError: an argument out of range. TaskError: the file has no tasks of the pipeline.

    Example:
        "4071 boss ally?": boss_or_ally(kind, name) and two distractors, of which one has a parameter width

    Paper: arXiv:2508.08791 (FTRL), its environments.
    Differs: rules write the tools of this world; the pipeline also takes a language model.
    """
    if not 0 <= merged <= 1 or not 0 <= scaled <= 1 or not 0 <= distractors <= 4 or not 0 <= spurious_rate <= 1:
        raise InputError(
            f"merged, scaled and spurious_rate are shares, distractors 0 to 4: {merged}, {scaled}, {spurious_rate}, "
            f"{distractors}"
        )
    base = toolchains(distractors=0, size=size, world_seed=world_seed)
    known = build_facts(seed=world_seed, size=size, distractors=0, relations=RELATIONS, digits=True)
    given = _file_tasks(file) if file else []
    key = ("built_chains", world_seed, size, f"{merged:g}", f"{scaled:g}", distractors)

    def task_of(split: Split, seed: int, number: int) -> Task:
        name = "-".join(map(str, (*key, seed, split, number)))
        writer, kinds = RuleWriter(known, known.halves[0 if split == "train" else 1]), tuple(SCENARIOS)
        rng = random.Random(derive_seed(*key, seed, split, number))
        (scenario,) = writer.scenarios([SeededId(name, rng.choice(kinds), rng.getrandbits(32))])
        (documents,) = writer.documents([(name, scenario.value)])
        (tools,) = writer.codes([(name, scenario.value, documents.value)], rng.getrandbits(32))
        made = scale_some(merge_some(tools.value, rng, share=merged), rng, share=scaled)
        if not accepted(scenario.value, made):
            raise TaskError(f"the tools of task {name!r} give other results")
        names = [one.tool.name for one in made]
        others = distractor_tools(known, names, rng, count=distractors, share=scaled)
        return built_task(scenario.value, made, others, name=name)

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        if given and split == "train":
            return sorted(given, key=lambda task: derive_seed("built order", seed, task.id))[:count]
        return [task_of(split, seed, number) for number in range(count)]

    return replace(base, name="built_chains", tasks=tasks, env=_env_factory, expert=_expert(spurious_rate), start=START)


def _expert(spurious_rate: float) -> Expert:
    """Calls of each round, with a call of a distractor at a rate; then the answer."""

    def expert(task: Task, facts: Facts) -> Message:
        rounds = task.metadata["rounds"]
        if facts["turn"] >= len(rounds):
            return Message("assistant", task.answer)
        calls = [ToolCall(one["name"], one["arguments"]) for one in rounds[facts["turn"]]]
        rng = random.Random(derive_seed("needless", task.id, facts["turn"]))
        others = [one for one in tools_of(task) if one.name not in task.metadata["unsolved"]]
        if others and rng.random() < spurious_rate:
            value = [*calls[0].arguments.values()][-1]
            other = rng.choice(others)
            calls.append(ToolCall(other.name, dict.fromkeys(other.parameters, value)))
        return Message("assistant", "", tuple(calls))

    return expert


def _env_factory(offered: Sequence[Any]) -> EnvFactory:
    def make(task: Task) -> Env:
        return tool_chat([*(deploy(one) for one in tools_of(task)), *offered])(task)

    return make


def _file_tasks(file: str) -> list[Task]:
    world = jsonl(file=file)
    found = [*world.tasks("train", 1 << 30, 0), *world.tasks("test", 1 << 30, 0)]
    if any("environment" not in task.metadata for task in found):
        raise TaskError(f"{file} has tasks without tools; give the tasks.jsonl of ftrl_environments")
    return found
