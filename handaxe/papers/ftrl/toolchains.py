"""Automatically built environments: questions with several parts and steps, and generate_tools tools for the parts."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.errors import InputError, TaskError
from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, ToolCall, ToolReply, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.papers.ftrl.toolchains_tools import RELATIONS, generate_tools, tool_call
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.parts.solved import match_results, read_unsolved
from handaxe.tools.decorator import Tool
from handaxe.worlds.hops.knowledge_base import KnowledgeBase, build_facts
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["SCENARIOS", "brief_question", "draw_chains", "remaining_metadata", "toolchains"]

SCENARIOS = {"single": (1, 1), "parallel": (2, 1), "chain": (1, 2), "parallel chain": (2, 2)}
"""Name -> (independent parts, steps of each part)."""
START = Start(DemonstrationNoise(call_rate=0.85, corrupt_rate=0.1), skill=400, steps=60)


def toolchains(
    *,
    scenarios: tuple[str, ...] = tuple(SCENARIOS),
    distractors: int = 2,
    merged: int = 1,
    optional: bool = False,
    spurious_rate: float = 0.4,
    brief: bool = True,
    size: int = 200,
    world_seed: int = 0,
) -> World:
    """Questions decomposed into sub-questions, each answered by a call of a generate_tools tool.

    Environments are built in the steps of the paper: a scenario is decomposed, each sub-question gets a documented
    tool, tools are merged and get more parameters, distractor tools are added, and all tools are deployed as local
    Python functions. The gold calls of every task are executed and verified.

    Args:
        scenarios: some of single (one call), parallel (two at once), chain (two in sequence), parallel chain (two
            chains at once); drawn evenly.
        distractors: number of offered tools without a use, 0 to 4.
        merged: tables of a tool, 1 to 3; for 2 and more a parameter selects the table.
        optional: give every tool an optional parameter.
        spurious_rate: share of the expert's calling turns with a spurious call, which does not affect the answer;
            training is to remove it.
        brief: names are numbers of four digits, and questions are key words, for the tiny policy; otherwise names are
            words, and there are sentences.
        size: people with facts, 16 to 900; a quarter occurs in test questions only.
        world_seed: seed of the facts.

    Returns:
        A world broken down by "scenario". Tasks keep "unsolved", {tool: remaining results}, and "rounds", the calls for
        these results, with simultaneous calls in a round. Gauges: call_precision (share of calls that solve a
        sub-question) and call_recall (share of solved sub-questions).

    Raises:
        InputError: an argument out of range.

    Example:
        "4071 boss ally, 9930 heir idol?" with tools for these four and two others: the calls boss("4071") and
        heir("9930"), which return 5526 and 7108, then ally("5526") and idol("7108"), and the answer "1390, 2817"

    Paper: arXiv:2508.08791 (FTRL), its construction of environments.
    Differs: scenarios and documentation come from a template and not from a language model.
    """
    if not scenarios or not set(scenarios) <= set(SCENARIOS):
        raise InputError(f"scenarios are some of {', '.join(SCENARIOS)}; they are {list(scenarios)}")
    if not 0 <= distractors <= 4 or not 1 <= merged <= 3 or not 0 <= spurious_rate <= 1:
        raise InputError(
            f"distractors 0 to 4, merged 1 to 3, spurious_rate 0 to 1: {distractors}, {merged}, {spurious_rate}"
        )
    known = build_facts(seed=world_seed, size=size, distractors=0, relations=RELATIONS, digits=brief)
    tools = generate_tools(known, merged=merged, optional=optional)
    key = ("toolchains", world_seed, size, merged, distractors)

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        if count < 1:
            raise TaskError(f"a data set of {count} tasks is empty; give a count of 1 or more")
        people = known.halves[0 if split == "train" else 1]
        made = []
        for number in range(count):
            rng = random.Random(derive_seed(*key, seed, split, number))
            name = "-".join(map(str, (*key, seed, split, number)))
            chosen = rng.choice(scenarios)
            made.append(_task(name, known, tools, people, rng, chosen, merged, distractors, brief))
        return made

    def expert(task: Task, facts: Facts) -> Message:
        rounds = task.metadata["rounds"]
        if facts["turn"] >= len(rounds):
            return Message("assistant", task.answer)
        calls = [ToolCall(one["name"], one["arguments"]) for one in rounds[facts["turn"]]]
        rng = random.Random(derive_seed("needless", task.id, facts["turn"]))
        if rng.random() < spurious_rate:
            wanted = tool_call(rng.choice(_tables(task.tools or ())), rng.choice(known.halves[0]), merged=merged)
            calls.append(ToolCall(wanted["name"], wanted["arguments"]))
        return Message("assistant", "", tuple(calls))

    return World(
        name="toolchains",
        tasks=tasks,
        env=lambda offered: tool_chat([*tools, *offered]),
        correct=exact_match(normalise=str.strip),
        breakdown=("scenario",),
        is_answer=is_text_answer,
        reference=reference_calls,
        expert=expert,
        start=START if brief and merged == 1 and not optional else None,
        gauges={
            "call_precision": RatioMetric(
                lambda one, right: float(_solved(one)), lambda one, right: float(len(one.calls))
            ),
            "call_recall": RatioMetric(
                lambda one, right: float(_solved(one)), lambda one, right: float(_subquestions(one))
            ),
        },
    )


def remaining_metadata(task: Task, replies: Sequence[ToolReply]) -> Mapping[str, Any]:
    """Compute the changes of a task's metadata after tool results, for the stage `prefixes`.

    Example:
        unsolved {"boss": ["luta"], "ally": ["dozo"]}, boss returned "luta" -> {"ally": ["dozo"]} and a solve_rate of
        0.5
    """
    _, left = match_results(replies, read_unsolved(task))
    open_ = {tool: list(results) for tool, results in left.items()}
    rounds: list[list[dict[str, Any]]] = []
    for calls in task.metadata["rounds"]:
        kept = [one for one in calls if one["result"] in open_.get(one["name"], [])]
        for one in kept:
            open_[one["name"]].remove(one["result"])
        rounds += [kept] if kept else []
    asked = sum(len(calls) for calls in task.metadata["rounds"])
    solved = asked - sum(map(len, left.values()))
    return {"unsolved": left, "rounds": rounds, "gold_calls": _plain(rounds), "solve_rate": solved / max(asked, 1)}


def _task(
    name: str,
    known: KnowledgeBase,
    tools: Sequence[Tool],
    people: Sequence[str],
    rng: random.Random,
    scenario: str,
    merged: int,
    distractors: int,
    brief: bool,
) -> Task:
    chains, parts = draw_chains(known, people, rng, scenario)
    depth = SCENARIOS[scenario][1]
    rounds = [
        [
            {**tool_call(path[step], visited[step], merged=merged), "result": visited[step + 1]}
            for (_, path), visited in zip(parts, chains)
        ]
        for step in range(depth)
    ]
    unsolved: dict[str, list[str]] = {}
    for one in (one for calls in rounds for one in calls):
        unsolved.setdefault(one["name"], []).append(one["result"])
    needed = [tool for tool in tools if tool.schema.name in unsolved]
    others = [tool for tool in tools if tool.schema.name not in unsolved]
    offered = {tool.schema.name for tool in [*needed, *rng.sample(others, min(distractors, len(others)))]}
    metadata = {
        "scenario": scenario,
        "rounds": rounds,
        "gold_calls": _plain(rounds),
        "unsolved": unsolved,
        "solve_rate": 0.0,
        "opened": 0,
    }
    _verify(name, tools, rounds)
    said = brief_question(parts) if brief else _sentence(parts)
    names = tuple(tool.schema.name for tool in tools if tool.schema.name in offered)
    return Task(name, (Message("user", said),), ", ".join(one[-1] for one in chains), names, metadata)


def _verify(name: str, tools: Sequence[Tool], rounds: Sequence[Sequence[Mapping[str, Any]]]) -> None:
    """Execute every gold call: incorrect gold calls would teach the opposite."""
    known = {tool.schema.name: tool for tool in tools}
    for one in (one for calls in rounds for one in calls):
        said = known[one["name"]].run(ToolCall(one["name"], one["arguments"])).content
        if said != one["result"]:
            raise TaskError(f"task {name!r}: {one['name']}({one['arguments']}) is {said!r} and not {one['result']!r}")


def draw_chains(
    known: KnowledgeBase, people: Sequence[str], rng: random.Random, scenario: str
) -> tuple[list[list[str]], list[tuple[str, list[str]]]]:
    """Draw the chains of a scenario: the names on each chain, and its first name with its relations.

    Example:
        "chain": [["4071", "5526", "1390"]] and [("4071", ["boss", "ally"])]
    """
    width, depth = SCENARIOS[scenario]
    chains: list[list[str]] = []
    parts: list[tuple[str, list[str]]] = []
    for start in rng.sample(list(people), width):
        path, visited = [], [start]
        while len(set(visited)) <= depth:
            path = [rng.choice(RELATIONS) for _ in range(depth)]
            visited = [start]
            for relation in path:
                visited.append(known.facts[visited[-1], relation])
        chains.append(visited)
        parts.append((start, path))
    return chains, parts


def brief_question(parts: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Word a question by key words.

    Example:
        [("4071", ["boss", "ally"])] -> "4071 boss ally?"
    """
    return f"{', '.join(' '.join([start, *path]) for start, path in parts)}?"


def _sentence(parts: Sequence[tuple[str, Sequence[str]]]) -> str:
    asked = []
    for start, path in parts:
        whom = start
        for relation in path:
            whom = f"the {relation} of {whom}"
        asked.append(whom)
    form = "Say the name alone." if len(parts) == 1 else "Say the names alone, with a comma between them."
    return f"Who is {', and who is '.join(asked)}? {form}"


def _plain(rounds: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    return [{"name": one["name"], "arguments": one["arguments"]} for calls in rounds for one in calls]


def _tables(tools: Sequence[str]) -> list[str]:
    return [relation for tool in tools for relation in tool.split("_or_")]


def _subquestions(one: Trajectory) -> int:
    return sum(map(len, read_unsolved(one.task).values()))


def _solved(one: Trajectory) -> int:
    return sum(match_results(one.replies, read_unsolved(one.task))[0])
