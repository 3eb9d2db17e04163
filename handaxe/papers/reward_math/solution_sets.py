"""Sets of a correct and nine incorrect solutions of different makers, and pairs with a cue of style."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from handaxe.core.records import Group, Message, RatedGroup, Task, Trajectory
from handaxe.evaluation.scenes import play, script, turn_messages
from handaxe.ops.seeds import generator
from handaxe.worlds.fact_chains import chain_expert
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.world import World

__all__ = ["SolutionSet", "solution_sets"]

WRONG = 9
FROM_POLICY = 3
FROM_HOT = 2
FROM_STEP = 2
"""Incorrect solutions of three makers, at most; the others make the rest."""
NEAR = (1, -1, 2, -2, 10, -10, 3, -3)


class SolutionSet(NamedTuple):
    """Solutions of one task.

    many  ten solutions, the correct solution first
    pair  the correct solution, and an incorrect solution without a call
    """

    many: Group
    pair: Group


def solution_sets(
    world: World, groups: Sequence[RatedGroup], hot: Sequence[RatedGroup], *, seed: int
) -> list[SolutionSet]:
    """Put nine incorrect solutions beside the expert's solution of each task.

        policy   incorrect rollouts of the policy, at most 3
        hot      incorrect rollouts of the policy at a higher temperature, at most 2
        step     the expert with an incorrect step and the steps that follow, played again, at most 2
        other    the expert's calls with the answer of another task
        digit    the expert's calls with one other digit in the answer
        near     the expert's calls with a number near the answer, up to nine solutions

    The policy has learned the form of the expert, so the correct solution has no mark of style. The pair has a mark, as
    a pair of a human's and a model's solution: the incorrect side states the answer of another task without a call.

    Args:
        world: `fact_chains`.
        groups: rollouts of the policy, two tasks or more.
        hot: rollouts at the same tasks, at a higher temperature.
        seed: of digits and steps.

    Returns:
        A set for each task with nine incorrect solutions; other tasks are left out.

    Example:
        "417 desk*3=?": lookup, calculator 52*3 and 156; incorrect are 157 after the same calls, 186, the lookup and
        the product of another desk, ...

    Paper: arXiv:2410.01729 (RewardMATH), sets of a correct and nine incorrect solutions.
    Differs: a policy and rules make the incorrect solutions, instead of 14 language models.
    """
    answers = [str(one.group.task.answer) for one in groups]
    keys = sorted({call.arguments["fact"] for one in groups for call in reference_calls(one.group.task)[:-1]})
    sets = []
    for one, warm in zip(groups, hot, strict=True):
        task = one.group.task
        rng = generator("solution sets", seed, task.id)
        expert = play(world, world.tools, task, world.need("expert"))
        texts = list(_texts(task, answers, rng))
        own, other = list(_incorrect(one)), list(_incorrect(warm))
        steps = (_with_step(world, task, keys, rng) for _ in range(FROM_STEP))
        made = (_with_answer(world, expert, text) for text in texts)
        wrong = _distinct(chain(own[:FROM_POLICY], other[:FROM_HOT], steps, made), str(task.answer))
        blind = play(world, world.tools, task, script(texts[0]), id=f"{task.id}/blind")
        if len(wrong) == WRONG:
            sets.append(SolutionSet(Group(task, (expert, *wrong)), Group(task, (expert, blind))))
    return sets


def _incorrect(rated: RatedGroup) -> Iterator[Trajectory]:
    """Incorrect rollouts of the group with a number as answer, in order."""
    for one, outcome in zip(rated.group, rated.scores.outcome, strict=True):
        if outcome < 0.5 and re.fullmatch(r"-?\d+", one.final_text.strip()):
            yield one


def _texts(task: Task, answers: Sequence[str], rng: np.random.Generator) -> Iterator[str]:
    """Incorrect answers of the rules: of another task, with another digit, and near numbers."""
    right = str(task.answer)
    yield from [one for one in answers if one != right][:1]
    place = int(rng.integers(len(right.lstrip("-")))) + right.startswith("-")
    digits = [one for one in "123456789" if one != right[place]]
    yield right[:place] + str(rng.choice(digits)) + right[place + 1 :]
    yield from (str(int(right) + step) for step in NEAR)


def _with_answer(world: World, expert: Trajectory, text: str) -> Trajectory:
    words = [*turn_messages(expert)[:-1], Message("assistant", text)]
    return play(world, world.tools, expert.task, script(*words), id=f"{expert.task.id}/{text}")


def _with_step(world: World, task: Task, keys: Sequence[str], rng: np.random.Generator) -> Trajectory:
    """The expert with another fact instead of a needed fact."""
    facts = [str(call.arguments["fact"]) for call in reference_calls(task)[:-1]]
    other = str(rng.choice([key for key in keys if key not in facts]))
    facts[int(rng.integers(len(facts)))] = other
    return play(world, world.tools, task, chain_expert(task, facts), id=f"{task.id}/{other}")


def _distinct(made: Iterable[Trajectory], answer: str) -> list[Trajectory]:
    """The first nine solutions with different turns and another answer."""
    found = dict[tuple[str, ...], Trajectory]()
    for one in made:
        if one.final_text.strip() != answer:
            found.setdefault(tuple(turn.parsed.raw for turn in one.turns), one)
        if len(found) == WRONG:
            break
    return list(found.values())
