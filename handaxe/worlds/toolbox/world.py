"""Thousands of tools behind two: find_tools and call_tool.

Kept: a world of large tool sets for users.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Criterion, Message, Task, ToolCall, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.extract import final_text
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.toolbox.box import BriefBox, ToolBox
from handaxe.worlds.toolbox.box_env import BoxEnv
from handaxe.worlds.toolbox.brief_catalogue_tasks import brief_catalogue, brief_tasks
from handaxe.worlds.toolbox.catalogue import full_catalogue
from handaxe.worlds.toolbox.questions import full_tasks
from handaxe.worlds.world import Facts, Split, Start, World

__all__ = ["toolbox"]

Kind = Literal["chain", "question"]
KINDS = ("chain", "question")
MOST_CALLS = 5
MOST_RESULTS = 20
START = Start(skill=200, steps=0, batch_size=8, learning_rate=2e-3)
NUMBER = re.compile(r"\d+")


def toolbox(
    *, kind: Kind = "chain", lengths: tuple[int, ...] = (1, 2), results: int | None = None, brief: bool = True
) -> World:
    """Find tools among the functions of the package bfcl-eval, and call them in chains.

    The tool `find_tools` searches 3,205 schemas of 1,853 functions by BM25; `call_tool` calls a function by name. Every
    schema has a deterministic stub, which checks the arguments against the schema and returns a number of four digits,
    derived from a digest of function and arguments. A call accepted for a step of the task by BFCL's rule returns the
    step's result: equivalent arguments have equal results. A rollout is correct if the last message has the requested
    results and no further number. About a quarter of the functions is in test, by a digest of the name. Questions of
    train and test need disjoint functions; the searched catalogue is the same.

    Args:
        kind: "chain", questions of one call each, with the previous result as an argument of every later question; or
            "question", the package's own questions with one to eight independent calls (prose only). The package has
            similar functions under several names: in a chain, the text of a question finds the correct tool first; in
            the package's own questions, the choice among similar tools is a guess.
        lengths: calls of a chain, each 1 to 5, drawn evenly.
        results: default number of tools in a search result, 1 to 20; None: 1 if brief, else 5.
        brief: numbers as names and key words, for a policy with 512 tokens of context, and only functions of one or two
            numbers; otherwise the package's texts and schemas.

    Returns:
        A world broken down by "length", the number of calls. Gauges: found (share of needed functions in search
        results), invalid_calls (share of calls with an unknown name or invalid arguments), progress (share of needed
        calls made) and turns. The expert needs two turns a call, and one for the answer.

    Raises:
        InputError: an argument out of range, or a missing package (bfcl-eval; extras [search] and [mcp]).

    Example:
        "5526 25, 1390 * 7": find_tools("5526") -> "t417 a"; call_tool("t417", {"a": 25}) -> "4071"; find_tools("1390")
        -> "t230 a b"; call_tool("t230", {"a": 4071, "b": 7}) -> "2817"; answer "2817"
    """
    if kind not in KINDS:
        raise InputError(f"toolbox has the kinds {' and '.join(KINDS)}, not {kind!r}")
    if kind == "question" and brief:
        raise InputError("questions of the package are prose: choose kind question with brief off (--world.no-brief)")
    if not lengths or not all(1 <= one <= MOST_CALLS for one in lengths):
        raise InputError(f"lengths are calls of a chain, each 1 to {MOST_CALLS}; they are {list(lengths)}")
    if results is not None and not 1 <= results <= MOST_RESULTS:
        raise InputError(f"results is {results}; give 1 to {MOST_RESULTS} tools")
    shown = results or (1 if brief else 5)
    catalogue = brief_catalogue() if brief else full_catalogue()

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        if brief:
            return brief_tasks(catalogue, lengths=lengths, split=split, count=count, seed=seed)
        return full_tasks(catalogue, kind=kind, lengths=lengths, results=shown, split=split, count=count, seed=seed)

    def env(tools: Sequence[Any]) -> EnvFactory:
        tool_chat(tools)  # raises early for bad tools

        def make(task: Task) -> Env:
            made = BriefBox if brief else ToolBox
            return BoxEnv(task, tools, made(catalogue, task.metadata["steps"], results=shown))

        return make

    return World(
        name="toolbox",
        tasks=tasks,
        env=env,
        correct=outcome(lambda one: float(_numbers(final_text(one)) == _numbers(one.task.answer))),
        breakdown=("length",),
        is_answer=is_text_answer,
        reference=_reference,
        expert=_expert,
        start=START if brief else None,
        start_turns=2 * MOST_CALLS + 1,
        start_context=512 if max(lengths) < MOST_CALLS else 1024,
        criteria=_criteria,
        check=_check,
        gauges={
            "found": RatioMetric(lambda one, _: float(sum(one.env["box"]["found"])), _steps),
            "invalid_calls": RatioMetric(
                lambda one, _: float(sum(status != "ok" for status in _statuses(one))), _calls
            ),
            "progress": RatioMetric(lambda one, _: float(sum(one.env["box"]["made"])), _steps),
            "turns": RatioMetric(lambda one, _: float(len(one.turns))),
        },
    )


def _expert(task: Task, facts: Facts) -> Message:
    steps = task.metadata["steps"]
    found, made = (facts.get(key, [False] * len(steps)) for key in ("found", "made"))
    if all(made) or not {"find_tools", "call_tool"} <= set(facts["tools"]):
        return Message("assistant", task.answer if all(made) else "I give up")
    number = made.index(False)
    step = steps[number]
    if not found[number]:
        return Message("assistant", "", (ToolCall("find_tools", {"query": step["query"]}),))
    return Message("assistant", "", (_call(step),))


def _call(step: Any) -> ToolCall:
    return ToolCall("call_tool", {"name": step["name"], "arguments": step["arguments"]})


def _reference(task: Task) -> tuple[ToolCall, ...]:
    return tuple(_call(step) for step in task.metadata["steps"])


def _criteria(task: Task) -> list[Criterion]:
    made: list[Criterion] = []
    for number, step in enumerate(task.metadata["steps"]):
        made.append(Criterion(f"find {number}", f"A search result has the tool {step['name']}."))
        made.append(Criterion(f"call {number}", f"A call of {step['name']} has correct arguments."))
    return [*made, Criterion("answer", "The answer has the requested results.")]


def _check(trajectory: Trajectory, criteria: Sequence[Criterion]) -> np.ndarray:
    """Check criteria by the state after each turn; met criteria stay met."""

    def met(name: str, turn: Any) -> bool:
        if name == "answer":
            return is_text_answer(turn) and _numbers(turn.parsed.text) == _numbers(trajectory.task.answer)
        kind, _, number = name.partition(" ")
        return bool(turn.facts) and turn.facts["found" if kind == "find" else "made"][int(number)]

    met_CN = np.array([[met(one.name, turn) for turn in trajectory.turns] for one in criteria], dtype=bool)
    return np.logical_or.accumulate(met_CN, axis=1)


def _numbers(text: str) -> list[str]:
    """All numbers of a text in ascending order; calls of a question may be made in any order."""
    return sorted(NUMBER.findall(text))


def _statuses(one: Trajectory) -> list[str]:
    """Status of every call of call_tool."""
    return [reply.status for turn in one.turns for reply in turn.replies if reply.name == "call_tool"]


def _steps(one: Trajectory, outcome: float) -> float:
    del outcome
    return float(len(one.task.metadata["steps"]))


def _calls(one: Trajectory, outcome: float) -> float:
    del outcome
    return float(len(_statuses(one)))
