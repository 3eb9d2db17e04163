"""Berkeley function-calling leaderboard: conversations about simulated systems, and single decisions."""

from __future__ import annotations

import difflib
import random
from collections.abc import Sequence
from typing import Any

from handaxe.core.errors import InputError, TaskError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.tool_choice import tool_choice
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.outcome import outcome
from handaxe.tools.decorator import Tool
from handaxe.tools.tool_owners import collect_tools, flatten_sources
from handaxe.worlds.bfcl import short as bfcl_short
from handaxe.worlds.bfcl.matching import matches
from handaxe.worlds.bfcl.notation import NOTATIONS
from handaxe.worlds.bfcl.package import MULTI_TURN, SINGLE_TURN, check_bfcl_installed, tool_schema
from handaxe.worlds.bfcl.simulators import Simulators
from handaxe.worlds.bfcl.tasks import CALL_IS_RIGHT, all_tasks, question_split
from handaxe.worlds.bfcl.turn_criteria import check_turns, turn_criteria
from handaxe.worlds.bfcl.user_turns import MOST_STEPS, UserTurns
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["bfcl", "equal_state", "full_state", "turn_calls"]

SHORT = "short"
MOST_TURNS = 8
"""Turns of the user in `short` that fit into 512 tokens."""
START = Start(DemonstrationNoise(call_rate=0.8, corrupt_rate=0.2), skill=150, steps=50)
LONG_START = Start(DemonstrationNoise(call_rate=0.9, corrupt_rate=0.05), skill=150, steps=50, batch_size=16)
"""For more than two turns of the user: noise of a call adds up over the turns."""
START_TURNS = 8
"""Turn limit of a demonstration with one or two turns of the user."""


def bfcl(
    *,
    category: tuple[str, ...] = ("multi_turn_base",),
    user_turns: int = 2,
    tickets: bool = False,
    single_calls: bool = False,
) -> World:
    """Tasks, simulators and rules of BFCL, from the package bfcl-eval.

    In a multi-turn task the user continues after a turn of the policy without a call. A rollout is correct if after
    every turn of the user the simulators are in the answer's state and have returned the replies to the answer's calls;
    see `user_turns`. A single-turn task is correct if its calls are accepted; see `matching`. In categories that end in
    irrelevance every call is incorrect, in live_relevance every call is correct. In simple_java and simple_javascript
    every argument is a text in that language, the package's format for models that call by JSON, read as by the
    package's converters (see `notation`). Whole calls in the language do not occur, so its parsers of calls are not
    used.

    Memory and web search are missing. Web search uses a paid service of the live web. Memory refers to the policy's own
    notes from earlier conversations in a persistent store, and an environment here lives for one rollout; its stores
    also need sentence-transformers and faiss or rank-bm25.

    Args:
        category: some of multi_turn_base, multi_turn_miss_func, multi_turn_miss_param,
            multi_turn_long_context, simple_python, simple_java, simple_javascript, multiple, parallel,
            parallel_multiple, irrelevance, live_simple, live_multiple, live_parallel, live_parallel_multiple,
            live_irrelevance, live_relevance; or short alone: a few words about files, for a policy with 512 tokens
            of context.
        user_turns: maximum turns of the user in `short`, 1 to 8; at least half as many. 8 fit into 512 tokens.
        tickets: `short` also has a ticket system, so that its reference state has four attributes; False: files alone.
        single_calls: the expert makes a call a turn and answers the user in words, for long rollouts; False: all calls
            of the user's turn at once, then an empty turn.

    Returns:
        A world broken down by "category", and multi-turn categories alone by "domain" (files, trading, travel,
        vehicle); about a quarter of its questions is in test, without a shared scenario. Facts and report hold the
        share of correct turns of the user ("progress"); criteria are the turns of the user. Its start is for `short`:
        conversations of the other categories do not fit the tiny policy.

    Raises:
        InputError: an unknown category, or short with another category; user_turns out of range, or user_turns or
            tickets for another category; bfcl-eval is missing.
    """
    known = (SHORT, *MULTI_TURN, *SINGLE_TURN)
    if unknown := [name for name in category if name not in known]:
        close = difflib.get_close_matches(unknown[0], known)
        hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(known)}"
        raise InputError(f"bfcl has no category {unknown[0]!r}; {hint}")
    if not category or (SHORT in category and len(category) > 1):
        raise InputError("name one category or more; short stands alone")
    if not 1 <= user_turns <= MOST_TURNS or (user_turns != 2 and SHORT not in category):
        raise InputError(f"user_turns is 1 to {MOST_TURNS} and for --world.category short, not {user_turns}")
    if tickets and SHORT not in category:
        raise InputError("tickets is for --world.category short; leave it out, or add this category")
    check_bfcl_installed()
    conversations = all(name in MULTI_TURN for name in category)

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        if category == (SHORT,):
            return bfcl_short.tasks(split=split, count=count, seed=seed, longest=user_turns, tickets=tickets)
        return _chosen(category, split, count, seed)

    return World(
        name="bfcl",
        tasks=tasks,
        env=_env,
        correct=outcome(_is_right),
        breakdown=("category", "domain") if conversations else ("category",),
        reference=_reference,
        expert=_single_call if single_calls else _expert,
        start=START if user_turns <= 2 else LONG_START,
        start_turns=START_TURNS if user_turns <= 2 else 2 * user_turns + 2,
        criteria=turn_criteria if conversations or category == (SHORT,) else None,
        check=check_turns if conversations or category == (SHORT,) else None,
        gauges={"progress": RatioMetric(lambda one, passed: one.env.get("progress", passed))},
    )


def _chosen(categories: Sequence[str], split: Split, count: int, seed: int) -> list[Task]:
    if count < 1 or split not in ("train", "test"):
        raise TaskError(f"give a count of 1 or more and the split train or test, not {count} and {split!r}")
    found = [task for name in dict.fromkeys(categories) for task in all_tasks(name) if question_split(task) == split]
    random.Random(derive_seed("bfcl order", seed, split)).shuffle(found)
    return found[:count]


def _env(tools: Sequence[Any]) -> EnvFactory:
    entries = flatten_sources(tools, whose="rollouts")
    besides = tool_chat(entries)  # raises early for bad tools, and bounds the number of open environments

    def factory(task: Task) -> Env:
        if "later" in task.metadata:
            return UserTurns(task, entries)
        made = [entry if isinstance(entry, Tool) else entry() for entry in entries]
        notation = NOTATIONS.get(task.metadata["category"])
        language = "" if notation is None else notation.called
        schemas = [tool_schema(one, language) for one in task.metadata["functions"]]
        return tool_choice([*schemas, *(tool.schema for tool in collect_tools(made))])(task)

    return inherit_bound(factory, besides)


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


def turn_calls(task: Task) -> list[list[ToolCall]]:
    """List the answer's calls for each turn of the user."""
    return [[ToolCall(one["name"], one["arguments"]) for one in turn] for turn in _turns(task)]


def equal_state(trajectory: Trajectory) -> dict[str, bool]:
    """Compare the final state of a multi-turn rollout with the answer's: attribute of the simulators -> equality.

    Raises:
        TaskError: the rollout is from another world, or from a single-turn task.
    """
    if "equal" not in trajectory.env:
        raise TaskError(
            f"no state was compared in task {trajectory.task.id!r}: play multi-turn tasks of the world bfcl"
        )
    return dict(trajectory.env["equal"])


def full_state(task: Task) -> dict[str, bool]:
    """Result of `equal_state` for a rollout with the answer's final state."""
    if "classes" not in task.metadata:
        raise TaskError(f"task {task.id!r} has no simulators: play multi-turn tasks of the world bfcl")
    made = Simulators.of(task)
    return made.compared(made)


def _reference(task: Task) -> tuple[ToolCall, ...]:
    return tuple(call for turn in turn_calls(task) for call in turn)


def _expert(task: Task, facts: Facts) -> Message:
    """All calls of the user's turn at once, and then an empty turn."""
    turns, number = _turns(task), facts.get("user_turn", 0)
    if facts.get("called", False) or number >= len(turns):
        return Message("assistant", "")
    return Message("assistant", "", tuple(ToolCall(one["name"], one["arguments"]) for one in turns[number]))


def _single_call(task: Task, facts: Facts) -> Message:
    """A call a turn, then a word for the user; all calls at once if they exceed the turns of a user's turn."""
    turns, number = _turns(task), facts.get("user_turn", 0)
    made = facts.get("calls", 0)
    calls = turns[number] if number < len(turns) else []
    if not calls and "later" in task.metadata:
        return Message("assistant", "I lack a function or a value for this.")
    if made >= len(calls):
        return Message("assistant", "Done." if "later" in task.metadata else "")
    several = calls if len(calls) > MOST_STEPS else calls[made : made + 1]
    return Message("assistant", "", tuple(ToolCall(one["name"], one["arguments"]) for one in several))
