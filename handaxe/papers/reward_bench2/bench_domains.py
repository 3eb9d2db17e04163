"""Domains of a benchmark of reward models: a correct and three wrong rollouts, or several correct rollouts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from handaxe.core.records import Group, Message, Task, ToolCall
from handaxe.evaluation.scenes import play, script
from handaxe.ops.seeds import generator
from handaxe.worlds.fact_chains import chain_expert
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.world import Expert, World

__all__ = ["DOMAINS", "TiedPrompts", "best_of_four", "tied_prompts"]

WRONG = 3
NUMBER = re.compile(r"\d+")


class _Draw(NamedTuple):
    """Input of a domain: task, other tasks, generator."""

    task: Task
    others: Sequence[Task]
    rng: np.random.Generator


class TiedPrompts(NamedTuple):
    """A prompt with several correct rollouts, and the prompt with a single correct rollout; incorrect rollouts follow.

    correct  number of correct rollouts of the tied prompt
    """

    tied: Group
    reference: Group
    correct: int


def best_of_four(world: World, tasks: Sequence[Task], *, domain: str, seed: int) -> list[Group]:
    """Play a correct and three wrong rollouts at each task, the correct rollout first.

        facts     the right calls and their result: the wrong ones look another person up, and go on from that number
        math      the right lookups: the wrong ones calculate with another operand, and state that result
        evidence  the right calls: the wrong ones state another number than the result
        focus     the right calls and their result: the wrong ones solve another question
        format    the number alone: the wrong ones have words around it

    A task for which a rollout is not correct or wrong as planned, by the rule of the world, is left out.

    Args:
        world: `fact_chains`.
        tasks: of the world, four or more.
        domain: of `DOMAINS`.
        seed: of the wrong rollouts.

    Example:
        evidence, "417 desk*3=?": lookup, calculator 52*3 with the result 156, and the answers 156, 157, 106 and 256

    Paper: arXiv:2506.01937 (RewardBench 2), best of four.
    Differs: five generated domains of one world; the paper has factuality, precise instructions, mathematics, safety
        and focus, with 1,865 prompts.
    """
    groups = []
    for k, task in enumerate(tasks):
        rng = generator("best of four", seed, domain, task.id)
        made = DOMAINS[domain](_Draw(task, [*tasks[k + 1 :], *tasks[:k]], rng))
        group = _played(world, task, list(islice(made, WRONG + 1)))
        if len(group) == WRONG + 1 and _outcomes(world, group) == [1.0, 0.0, 0.0, 0.0]:
            groups.append(group)
    return groups


def tied_prompts(world: World, tasks: Sequence[Task], *, seed: int) -> list[TiedPrompts]:
    """Play tasks with two correct and two wrong rollouts, each beside the task with a correct and three wrong rollouts.

    The correct rollouts of a tied prompt read two facts in either order; both are worth the same.

    Args:
        world: `fact_chains`; questions with one fact are left out.
        tasks: of the world.
        seed: of the wrong rollouts.

    Example:
        "417 desk+823 age=?": 417 desk first, and 823 age first; the wrong ones state 84 and 43 instead of 83

    Paper: arXiv:2506.01937 (RewardBench 2), the subset Ties.
    Differs: the rollouts differ in the order of the calls, and not in the answer.
    """
    found = []
    for task in tasks:
        calls = _steps(task)
        if len(calls) < 3:
            continue
        rng = generator("tied prompts", seed, task.id)
        wrong = [script(*calls, _said(number)) for number in islice(_numbers(str(task.answer), rng), WRONG)]
        right = script(*calls, _said(task.answer))
        swapped = script(calls[1], calls[0], *calls[2:], _said(task.answer))
        tied = _played(world, task, [right, swapped, *wrong[: WRONG - 1]])
        reference = _played(world, task, [right, *wrong])
        if _outcomes(world, tied) == [1.0, 1.0, 0.0, 0.0] and _outcomes(world, reference) == [1.0, 0.0, 0.0, 0.0]:
            found.append(TiedPrompts(tied, reference, 2))
    return found


def _facts(draw: _Draw) -> Iterator[Expert]:
    own = [str(call.arguments["fact"]) for call in reference_calls(draw.task)[:-1]]
    yield chain_expert(draw.task, own)
    keys = [str(call.arguments["fact"]) for one in draw.others for call in reference_calls(one)[:-1]]
    for key in dict.fromkeys(str(one) for one in draw.rng.permutation(keys)):
        if key not in own:
            place = int(draw.rng.integers(len(own)))
            yield chain_expert(draw.task, [*own[:place], key, *own[place + 1 :]])


def _math(draw: _Draw) -> Iterator[Expert]:
    *lookups, total = _steps(draw.task)
    yield script(*lookups, total, _said(draw.task.answer))
    expression = str(total.calls[0].arguments["expression"])
    spans = [own.span() for own in NUMBER.finditer(expression)]
    while True:
        start, end = spans[int(draw.rng.integers(len(spans)))]
        changed = expression[:start] + next(_numbers(expression[start:end], draw.rng)) + expression[end:]
        call = Message("assistant", "", (ToolCall("calculator", {"expression": changed}),))
        yield script(*lookups, call, _said(_value(changed)))


def _evidence(draw: _Draw) -> Iterator[Expert]:
    calls = _steps(draw.task)
    yield script(*calls, _said(draw.task.answer))
    yield from (script(*calls, _said(number)) for number in _numbers(str(draw.task.answer), draw.rng))


def _focus(draw: _Draw) -> Iterator[Expert]:
    for task in (draw.task, *(draw.others[k] for k in draw.rng.permutation(len(draw.others)))):
        yield script(*_steps(task), _said(task.answer))


def _format(draw: _Draw) -> Iterator[Expert]:
    for text in ("{}", "It is {}.", "{}, I think", "the answer: {}"):
        yield script(*_steps(draw.task), _said(text.format(draw.task.answer)))


DOMAINS: Mapping[str, Callable[[_Draw], Iterator[Expert]]] = {
    "facts": _facts,
    "math": _math,
    "evidence": _evidence,
    "focus": _focus,
    "format": _format,
}
"""Domain -> speakers of the correct rollout, then of wrong ones."""


def _played(world: World, task: Task, speakers: Sequence[Expert]) -> Group:
    return Group(
        task, tuple(play(world, world.tools, task, one, id=f"{task.id}/{k}") for k, one in enumerate(speakers))
    )


def _outcomes(world: World, group: Group) -> list[float]:
    outcomes: list[float] = world.correct(group).outcome.tolist()
    return outcomes


def _numbers(text: str, rng: np.random.Generator) -> Iterator[str]:
    """Numbers with another digit, each once; the first digit is never 0."""
    first = int(text.startswith("-"))
    options = [(k, digit) for k in range(first, len(text)) for digit in "0123456789" if digit != text[k]]
    for index in rng.permutation(len(options)):
        place, digit = options[index]
        if digit != "0" or place > first:
            yield text[:place] + digit + text[place + 1 :]


def _value(expression: str) -> int:
    """Value of a sum, or of a product of two numbers."""
    numbers = [int(one) for one in NUMBER.findall(expression)]
    return numbers[0] * numbers[1] if "*" in expression else sum(numbers)


def _steps(task: Task) -> list[Message]:
    """The reference calls, a turn each."""
    return [Message("assistant", "", (call,)) for call in reference_calls(task)]


def _said(value: object) -> Message:
    return Message("assistant", str(value))
