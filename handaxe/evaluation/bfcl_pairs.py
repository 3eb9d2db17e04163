"""Right function calls of BFCL, each beside five calls with one minimal error."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, NamedTuple

import numpy as np

from handaxe.asking.ask import Ask
from handaxe.asking.desk import AskDesk
from handaxe.asking.prompt import find_prompt
from handaxe.core.records import Task, ToolCall
from handaxe.evaluation.bench_items import BenchItem, BenchQuestion
from handaxe.evaluation.call_errors import CallSource, call_errors
from handaxe.ops.seeds import derive_seed, generator
from handaxe.worlds.bfcl.matching import matches
from handaxe.worlds.bfcl.package import check_bfcl_installed, tool_schema
from handaxe.worlds.bfcl.tasks import all_tasks, question_split
from handaxe.worlds.world import Split

__all__ = ["bfcl_pairs", "call_text"]

CATEGORIES = ("multiple", "live_multiple")
"""Categories with one call, and with other functions that are offered."""
BALANCED = ("function", "name", "value")
"""Errors whose calls are longer or shorter than the right one; "missing" is always shorter, "extra" always longer."""
TRIED = 12
"""Wrong calls of a kind among which length is balanced."""
EMPTY = 200
"""Candidates of a kind that are tried at most."""
WORDS = 24
"""Characters of a borrowed text at most."""


class _Calls(NamedTuple):
    """A task, its right call, and a wrong call of each kind."""

    task: Task
    right: ToolCall
    wrong: Mapping[str, ToolCall]


def bfcl_pairs(*, split: Split, count: int, seed: int, pairs: bool = False) -> list[BenchItem]:
    """Ask about the right call of a BFCL question and five wrong calls, one for each kind of `call_errors`.

    The questions have one call and two functions or more. The rule of BFCL accepts the right call and refuses each
    wrong one. Tasks without a wrong call of every kind are left out. A judge by length has pair accuracy 1/2, up to one
    half of a comparison in all: of the five, one is shorter and one is longer, and those of the other three that are
    longer and shorter are equally many over the bench.

    Args:
        split: of the questions, see `tasks.question_split`.
        count: tasks at most.
        seed: of the order and the errors.
        pairs: ask which of two calls is right, in both orders, instead of about each call alone.

    Returns:
        A task each, the right call first; the questions have the kind of the error.

    Raises:
        InputError: bfcl-eval is missing.

    Example:
        "capital of Brazil?"  ->  capital({"country": "Brazil"}) beside population({"country": "Brazil"}),
        capital({"state": "Brazil"}), capital({"country": "Poland"}), capital({}) and
        capital({"country": "Brazil", "year": 3})

    Idea: gold calls of a public set against one corrupted part, as RewardBench 2 (arXiv:2506.01937) has one right
    answer and several wrong ones.
    """
    check_bfcl_installed()
    found, balance = list[_Calls](), 0
    for task in _ordered(split, seed):
        if len(found) == count:
            break
        made = _calls(task, seed, balance)
        if made is None:
            continue
        moved = balance + _tilt(made)
        if abs(moved) <= 1:
            found.append(made)
            balance = moved
    return [_pairs_of(one) if pairs else _alone(one) for one in found]


def call_text(call: ToolCall) -> str:
    """The text of a call that a judge reads.

    Example:
        ToolCall("area", {"base": 10}) -> 'area({"base": 10})'
    """
    return f"{call.name}({json.dumps(dict(call.arguments), ensure_ascii=False)})"


# --- wrong calls -----------------------------------------------------------------------------------------------------


def _ordered(split: Split, seed: int) -> list[Task]:
    known = [task for name in CATEGORIES for task in all_tasks(name) if question_split(task) == split]
    known = [task for task in known if len(task.messages) == 1 and len(task.metadata["gold"]) == 1]
    return sorted(known, key=lambda task: derive_seed("bfcl pairs", seed, task.id))


def _calls(task: Task, seed: int, balance: int) -> _Calls | None:
    """The right call and a wrong one of each kind, in the lengths that balance best; None without one of a kind."""
    (gold,) = task.metadata["gold"]
    right = ToolCall(gold["name"], gold["arguments"])
    errors = call_errors(right, _source(task, right), generator("bfcl errors", seed, task.id))
    found = {kind: _refused(task, islice(calls, EMPTY)) for kind, calls in errors.items()}
    if not all(found.values()):
        return None
    by_sign = {kind: {_sign(right, one): one for one in reversed(found[kind])} for kind in BALANCED}
    choices = product(*(by_sign[kind] for kind in BALANCED))
    signs = min(choices, key=lambda one: (abs(balance + sum(one)), sum(map(abs, one)), one))
    chosen = {kind: by_sign[kind][sign] for kind, sign in zip(BALANCED, signs, strict=True)}
    return _Calls(task, right, {kind: chosen.get(kind, calls[0]) for kind, calls in found.items()})


def _refused(task: Task, calls: Iterator[ToolCall]) -> list[ToolCall]:
    """Calls that the rule of BFCL refuses."""
    functions = task.metadata["functions"]
    wrong = (one for one in calls if not matches([one], task.answer, functions))
    return list(islice(wrong, TRIED))


def _source(task: Task, right: ToolCall) -> CallSource:
    known = {one["name"].replace(".", "_"): one["parameters"]["properties"] for one in task.metadata["functions"]}
    own = known.pop(right.name)
    return CallSource(own, known, _texts())


@functools.lru_cache(maxsize=1)
def _texts() -> tuple[str, ...]:
    """Short texts in arguments of the simple questions, which are no question of the bench."""
    calls = [call for task in all_tasks("simple_python") for call in task.metadata["gold"]]
    values = [value for call in calls for value in call["arguments"].values()]
    return tuple(dict.fromkeys(one for one in values if isinstance(one, str) and 0 < len(one) <= WORDS))


def _tilt(made: _Calls) -> int:
    return sum(_sign(made.right, one) for one in made.wrong.values())


def _sign(right: ToolCall, one: ToolCall) -> int:
    return int(np.sign(len(call_text(one)) - len(call_text(right))))


# --- questions -------------------------------------------------------------------------------------------------------


def _alone(made: _Calls) -> BenchItem:
    known = {"": made.right, **made.wrong}
    asked = [
        BenchQuestion(_check(made.task, one), not kind, (len(call_text(one)),), kind=kind)
        for kind, one in known.items()
    ]
    return BenchItem(made.task.id, tuple(asked))


def _pairs_of(made: _Calls) -> BenchItem:
    asked = [
        BenchQuestion(_which(made.task, *order), order[0] is made.right, _lengths(order), place=0, kind=kind)
        for kind, one in made.wrong.items()
        for order in ((made.right, one), (one, made.right))
    ]
    return BenchItem(made.task.id, tuple(asked))


def _lengths(calls: Sequence[ToolCall]) -> tuple[int, ...]:
    return tuple(len(call_text(one)) for one in calls)


def _check(task: Task, call: ToolCall) -> Callable[[AskDesk], Ask]:
    return lambda desk: _ask(desk, "tool_call", task, {"call": call_text(call)})


def _which(task: Task, first: ToolCall, second: ToolCall) -> Callable[[AskDesk], Ask]:
    return lambda desk: _ask(desk, "which_call", task, {"first": call_text(first), "second": call_text(second)})


def _ask(desk: AskDesk, prompt: str, task: Task, calls: Mapping[str, str]) -> Ask:
    terse = desk.answerer.terse
    shown = "\n".join(_signature(one) if terse else _schema(one) for one in task.metadata["functions"])
    fields = {"task": task.messages[-1].content, "functions": shown, **calls}
    return Ask(find_prompt(prompt, terse=terse), fields, about=(task.id, -1, "call"))


def _schema(described: Mapping[str, Any]) -> str:
    made = tool_schema(described)
    parts = {"name": made.name, "description": made.description, "parameters": made.parameters}
    return json.dumps(parts, ensure_ascii=False)


def _signature(described: Mapping[str, Any]) -> str:
    """Name and parameters with types; "?" marks an optional one."""
    made = tool_schema(described)
    needed = made.parameters.get("required", ())
    properties = made.parameters.get("properties", {})
    parts = [f"{name}{'' if name in needed else '?'}: {one.get('type')}" for name, one in properties.items()]
    return f"{made.name}({', '.join(parts)})"
