"""The Berkeley function-calling leaderboard: conversations about simulated systems, and single decisions."""

from __future__ import annotations

import difflib
import random
from collections.abc import Sequence
from typing import Any

from handaxe.core.errors import InputError, TaskError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.envs.bounded_as import bounded_as
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.tool_choice import tool_choice
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.outcome import outcome
from handaxe.tools.decorator import Tool
from handaxe.tools.state import entries_of, tools_of
from handaxe.worlds.bfcl import short as bfcl_short
from handaxe.worlds.bfcl.matching import matches
from handaxe.worlds.bfcl.notation import NOTATIONS
from handaxe.worlds.bfcl.package import MULTI_TURN, SINGLE_TURN, schema_of
from handaxe.worlds.bfcl.simulators import Simulators
from handaxe.worlds.bfcl.tasks import CALL_IS_RIGHT, all_tasks, split_of
from handaxe.worlds.bfcl.user_turns import UserTurns
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["bfcl", "calls_by_turn", "equal_state", "whole_state"]

SHORT = "short"
START = Start(DemonstrationNoise(needed=0.8, clumsy=0.2), skill=150, steps=50)


def bfcl(*, category: tuple[str, ...] = ("multi_turn_base",)) -> World:
    """Tasks of BFCL, with its simulators and its rules; a package of its own brings both.

    In a multi-turn task the user says the next thing when the policy makes no further call. It is right if after every
    turn of the user's the simulators are in the state that the answer leads to and have said what they would have said
    to the answer's calls; see `bfcl_user_turns`. A single-turn task is right if its calls are among those accepted;
    see `bfcl_matching`. In the categories that end in irrelevance any call is wrong, in live_relevance any is right. In
    simple_java and simple_javascript every argument is a text in that language, as the package asks of models that call
    by JSON: it is read as its converters read it, all of which is applied (see `bfcl_notation`), but a whole call is
    never written in the language, so its parsers of such calls are not needed.

    Memory and web search are not there. Web search asks a paid service of the live web. Memory asks for what the policy
    itself wrote down in earlier conversations, in a store that outlives them, and an environment here is made for one
    attempt; its stores need sentence-transformers and faiss or rank-bm25 besides.

    Args:
        category: one or several of multi_turn_base, multi_turn_miss_func, multi_turn_miss_param,
            multi_turn_long_context, simple_python, simple_java, simple_javascript, multiple, parallel,
            parallel_multiple, irrelevance, live_simple, live_multiple, live_parallel, live_parallel_multiple,
            live_irrelevance, live_relevance; or short alone: a few words about files, which a policy with 512 tokens
            of context can read.

    Returns:
        A world broken down by "category", about a quarter of whose questions are in test. Facts and report say the
        share of the user's turns that were right ("progress"). Its start is for `short`: conversations of the other
        categories do not fit the tiny policy.

    Raises:
        InputError: no such category, or short beside another; bfcl-eval is missing, when tasks are made.
    """
    known = (SHORT, *MULTI_TURN, *SINGLE_TURN)
    if unknown := [name for name in category if name not in known]:
        close = difflib.get_close_matches(unknown[0], known)
        hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(known)}"
        raise InputError(f"bfcl has no category {unknown[0]!r}; {hint}")
    if not category or (SHORT in category and len(category) > 1):
        raise InputError("name one category or more; short stands alone")

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        if category == (SHORT,):
            return bfcl_short.tasks(split=split, count=count, seed=seed)
        return _chosen(category, split, count, seed)

    return World(
        name="bfcl",
        tasks=tasks,
        env=_env,
        correct=outcome(_is_right),
        by=("category",),
        reference=_reference,
        expert=_expert,
        start=START,
        gauges={"progress": RatioMetric(lambda one, passed: one.env.get("progress", passed))},
    )


def _chosen(categories: Sequence[str], split: Split, count: int, seed: int) -> list[Task]:
    if count < 1 or split not in ("train", "test"):
        raise TaskError(f"give a count of 1 or more and the split train or test, not {count} and {split!r}")
    found = [task for name in dict.fromkeys(categories) for task in all_tasks(name) if split_of(task) == split]
    random.Random(derive_seed("bfcl order", seed, split)).shuffle(found)
    return found[:count]


def _env(tools: Sequence[Any]) -> EnvFactory:
    entries = entries_of(tools, whose="rollouts")
    besides = tool_chat(entries)  # says at once what is wrong with the tools, and how many there may be

    def factory(task: Task) -> Env:
        if "later" in task.metadata:
            return UserTurns(task, entries)
        made = [entry if isinstance(entry, Tool) else entry() for entry in entries]
        notation = NOTATIONS.get(task.metadata["category"])
        language = "" if notation is None else notation.called
        schemas = [schema_of(one, language) for one in task.metadata["functions"]]
        return tool_choice([*schemas, *(tool.schema for tool in tools_of(made))])(task)

    return bounded_as(factory, besides)


def _is_right(one: Trajectory) -> bool:
    about = one.task.metadata
    if "later" in about:
        return bool(one.env.get("valid", False))
    if not about["gold"]:
        return not one.calls
    if about["category"] == CALL_IS_RIGHT:
        return bool(one.calls)
    malformed = any(turn.parsed.errors for turn in one.turns)
    return not malformed and matches(one.calls, one.task.answer, about["functions"], NOTATIONS.get(about["category"]))


def _turns(task: Task) -> list[list[dict[str, Any]]]:
    gold = task.metadata["gold"]
    return gold if "later" in task.metadata else [gold]


def calls_by_turn(task: Task) -> list[list[ToolCall]]:
    """The answer's calls by the user's turn."""
    return [[ToolCall(one["name"], one["arguments"]) for one in turn] for turn in _turns(task)]


def equal_state(attempt: Trajectory) -> dict[str, bool]:
    """By attribute of the simulators, whether a multi-turn attempt left it as the answer's calls do.

    Raises:
        TaskError: the attempt was made in another world, or at a task of a single turn.
    """
    if "equal" not in attempt.env:
        raise TaskError(f"no state was compared in task {attempt.task.id!r}: play multi-turn tasks of the world bfcl")
    return dict(attempt.env["equal"])


def whole_state(task: Task) -> dict[str, bool]:
    """What `equal_state` says of an attempt that left everything as the answer's calls do."""
    if "classes" not in task.metadata:
        raise TaskError(f"task {task.id!r} has no simulators: play multi-turn tasks of the world bfcl")
    made = Simulators.of(task)
    return made.compared(made)


def _reference(task: Task) -> tuple[ToolCall, ...]:
    return tuple(call for turn in calls_by_turn(task) for call in turn)


def _expert(task: Task, facts: Facts) -> Message:
    """All calls of the user's turn at once, and then silence."""
    turns, number = _turns(task), facts.get("user_turn", 0)
    if facts.get("called", False) or number >= len(turns):
        return Message("assistant", "")
    return Message("assistant", "", tuple(ToolCall(one["name"], one["arguments"]) for one in turns[number]))
