"""Questions for a chain of two tools, with a rule for the correctness of every step."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from handaxe.core.records import Message, Task, ToolCall, Trajectory, Turn
from handaxe.envs.tool_chat import tool_chat
from handaxe.rewards.exact_match import exact_match
from handaxe.tools.calculator import calculator
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.parts.people_facts import (
    FIELDS,
    PersonQuestion,
    build_people,
    lookup_tool,
    people_tasks,
)
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.world import DemonstrationNoise, Expert, Facts, Split, Start, World

__all__ = ["chain_expert", "fact_chains", "judged_labels", "next_step", "step_verdicts"]

START = Start(DemonstrationNoise(call_rate=1.0, corrupt_rate=0.1), skill=180, steps=20, batch_size=16)
PRODUCT = re.compile(r"\*\d+$")
SHORTEST, LONGEST = 1, 2
"""Facts of a question."""


def fact_chains(*, size: int = 400, world_seed: int = 0) -> World:
    """Questions for a number, calculated from one or two facts about people.

    The tool `lookup` reads a fact, and `calculator` calculates; a question takes a call for each fact, a calculation,
    and the answer: three or four steps, each of which depends on the steps before. `verdicts` tells the correctness of
    each step, see `step_verdicts`.

    Args:
        size: number of people, 8 to 900; a quarter occurs in test questions only.
        world_seed: seed of the facts.

    Returns:
        A world broken down by "facts", scored by exact match, with `verdicts`.

    Raises:
        InputError: an argument out of range.

    Example:
        "417 desk+823 age=?": lookup "417 desk" is 52, lookup "823 age" is 31, calculator "52+31" is 83, and the answer
        is "83": four correct steps

    Idea: prompts that need several chained tools, each step with a label; ToolComp (arXiv:2501.01290).
    """
    people = build_people(seed=world_seed, size=size)

    def ask(name: str, rng: random.Random) -> PersonQuestion:
        half = next(own for own in people.halves if name in own)
        names = [name, *rng.sample([one for one in half if one != name], LONGEST - 1)]
        keys = [f"{one} {rng.choice(list(FIELDS))}" for one in names[: rng.randint(SHORTEST, LONGEST)]]
        values, factor = [people.facts[_key(one)] for one in keys], rng.randint(2, 9)
        tail = f"*{factor}" if len(keys) == 1 else ""
        expression = "+".join(map(str, values)) + tail
        calls: list[dict[str, Any]] = [{"name": "lookup", "arguments": {"fact": one}} for one in keys]
        calls.append({"name": "calculator", "arguments": {"expression": expression}})
        metadata = {"facts": len(keys), "expression": expression, "gold_calls": calls}
        answer = values[0] * factor if tail else sum(values)
        return PersonQuestion(f"{'+'.join(keys)}{tail}=?", str(answer), metadata)

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        key = ("fact_chains", world_seed, size)
        return people_tasks(people, key=key, count=count, seed=seed, split=split, ask=ask)

    return World(
        name="fact_chains",
        tasks=tasks,
        env=tool_chat,
        correct=exact_match(),
        tools=(lookup_tool(people), calculator),
        breakdown=("facts",),
        is_answer=is_text_answer,
        reference=reference_calls,
        expert=calls_then_answer(lambda task, facts: reference_calls(task)),
        start=START,
        verdicts=step_verdicts,
    )


def step_verdicts(trajectory: Trajectory) -> np.ndarray:
    """Judge each step by the place in the chain: 1 for correct, -1 for incorrect, 0 after the first incorrect step.

        a lookup        correct if it reads a fact of the question that was not read before
        a calculation   correct if all facts were read, and the result is the answer of the question
        an answer       correct if it is the last result of a correct calculation
        anything else   incorrect: malformed, cut, refused, several calls, or a step out of the chain

    Steps after the first incorrect step are not judged: annotators of the paper correct a step before the next one.

    Returns:
        [N] float64.

    Example:
        lookup "417 desk", lookup "832 age" instead of "823 age", calculator, answer -> 1, -1, 0, 0

    Paper: arXiv:2501.01290 (ToolComp), labels of steps given the steps before.
    Differs: a rule instead of annotators.
    """
    found = np.zeros(len(trajectory.turns))
    for n, turn in enumerate(trajectory.turns):
        right = _is_correct(trajectory.task, trajectory.turns[:n], turn)
        found[n] = 1.0 if right else -1.0
        if not right:
            break
    return found


def judged_labels(trajectory: Trajectory) -> np.ndarray:
    """Labels of steps for a process reward model: `step_verdicts`, NaN for steps without a verdict.

    Example:
        verdicts 1, -1, 0  ->  1, -1, NaN
    """
    verdict_N = step_verdicts(trajectory)
    return np.where(verdict_N == 0, np.nan, verdict_N)


def next_step(task: Task, before: Sequence[Turn]) -> Message:
    """Write the next correct step after correct steps: the first missing call of the chain, or the answer.

    Args:
        task: of the world.
        before: correct steps.

    Example:
        the second fact was read first -> the lookup of the first fact
    """
    made = [(call.name, dict(call.arguments)) for turn in before for call in turn.parsed.calls]
    for call in reference_calls(task):
        if call.name == "calculator" and any(name == "calculator" for name, _ in made):
            break
        if (call.name, dict(call.arguments)) not in made:
            return Message("assistant", "", (call,))
    return Message("assistant", str(task.answer))


def chain_expert(task: Task, facts: Sequence[str]) -> Expert:
    """Play the chain of a task with other facts: lookups, then calculation and answer by the results.

    Args:
        task: of the world.
        facts: looked up, as many as in the question.

    Example:
        "417 desk*3=?" with the fact "823 desk": lookup "823 desk" is 40, calculator "40*3" is 120, answer "120"
    """
    tail = PRODUCT.search(str(reference_calls(task)[-1].arguments["expression"]))
    results = list[str]()

    def speaker(task: Task, state: Facts) -> Message:
        del task
        if state["turn"] == 0:
            results.clear()
        results.extend(state["replies"])
        if state["turn"] < len(facts):
            return Message("assistant", "", (ToolCall("lookup", {"fact": facts[state["turn"]]}),))
        if state["turn"] == len(facts):
            expression = "+".join(results) + (tail[0] if tail else "")
            return Message("assistant", "", (ToolCall("calculator", {"expression": expression}),))
        return Message("assistant", results[-1])

    return speaker


def _is_correct(task: Task, before: Sequence[Turn], turn: Turn) -> bool:
    if turn.parsed.errors or turn.finish != "stop" or len(turn.parsed.calls) > 1:
        return False
    calculated = [one for one in before if one.parsed.calls[0].name == "calculator"]
    if not turn.parsed.calls:
        return bool(calculated) and turn.parsed.text.strip() == str(task.answer)
    call = turn.parsed.calls[0]
    read = [_fact(one.parsed.calls[0]) for one in before]
    needed = [_fact(one) for one in reference_calls(task)[:-1]]
    if calculated or len(turn.replies) != 1 or turn.replies[0].status != "ok":
        return False
    if call.name == "lookup":
        return _fact(call) in needed and _fact(call) not in read
    return set(needed) <= set(read) and turn.replies[0].content.strip() == str(task.answer)


def _fact(call: ToolCall) -> str:
    return str(call.arguments.get("fact", "")).strip()


def _key(fact: str) -> tuple[str, str]:
    name, _, field = fact.partition(" ")
    return name, field
