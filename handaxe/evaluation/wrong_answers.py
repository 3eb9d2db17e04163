"""Tasks of a world with one correct answer and three wrong answers of different makers."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Criterion, Group, Message, Task, Trajectory
from handaxe.evaluation.bench_items import BenchItem, answer_item, pair_item
from handaxe.evaluation.scenes import ENDED, play, script, turn_messages
from handaxe.ops.seeds import generator
from handaxe.rewards.parts.scoring import score_group
from handaxe.worlds.world import Split, World

__all__ = ["CRITERION", "wrong_answers"]

CRITERION = Criterion("answer", "the answer to the task is correct")
WRONG = 3
"""Wrong answers of a task."""
SPARE = 2
"""Tasks asked of the world for each task of the bench."""
NEAR = (1, 2, 3, 5, 10)
BLANK = ("", "I like the sea in summer.")
"""Texts without an answer: shorter and longer than answers, in turns, so that lengths are in balance."""


class _Draw(NamedTuple):
    """Input of a maker: correct text, texts of other tasks, text without an answer, generator."""

    text: str
    others: Sequence[str]
    blank: str
    rng: np.random.Generator


def wrong_answers(
    *, world: World, split: Split, count: int, seed: int, criterion: Criterion = CRITERION, pairs: bool = False
) -> list[BenchItem]:
    """Replace the last text of the expert by wrong texts; the turns before stay.

    Makers, three of them a task, in turns: a near number, the answer of another task, one other letter or digit, and
    no answer at all (an empty text, or a text about something else). A maker is replaced by the next one where its text
    is taken, or scores as well as the correct text by the rule of the world. Wrong texts have the length of the correct
    text where possible.

    Args:
        world: with an expert whose last turn is a text.
        split: of the tasks.
        count: tasks at most; fewer in a world with fewer tasks.
        seed: of the tasks and the wrong texts.
        criterion: of the question about each answer.
        pairs: ask about pairs, see `bench_items.pair_item`.

    Returns:
        A task each, the correct answer first.

    Raises:
        InputError: the world has no expert, or no task with a correct text and three wrong texts.

    Example:
        "2*7=?" with the answer 14  ->  14, 15, 94 and ""

    Idea: distractors of several makers, with an order by computation.
    """
    expert = world.need("expert")
    tasks = world.tasks(split, SPARE * count, seed)
    played = [play(world, world.tools, task, expert) for task in tasks]
    texts = [one.final_text for one in played]
    items, blanks = list[BenchItem](), 0
    for task, oracle in zip(tasks, played, strict=True):
        if not _is_answered(world, oracle):
            continue
        blank = BLANK[blanks % len(BLANK)]
        rng = generator("wrong answers", seed, task.id)
        draw = _Draw(oracle.final_text, [one for one in texts if one != oracle.final_text], blank, rng)
        rollouts = _rollouts(world, task, oracle, draw, len(items))
        if len(rollouts) <= WRONG:
            continue
        blanks += any(one.final_text == blank for one in rollouts)
        items.append(pair_item(rollouts) if pairs else answer_item(rollouts, criterion))
        if len(items) == count:
            return items
    if not items:
        raise InputError(
            f"world {world.name!r} has no task with a text of the expert that is correct and {WRONG} that are wrong: "
            "choose another --world"
        )
    return items


def _is_answered(world: World, oracle: Trajectory) -> bool:
    last = oracle.turns[-1] if oracle.turns else None
    if last is None or last.parsed.calls or not oracle.final_text.strip() or oracle.ending.kind not in ENDED:
        return False
    return world.is_answer is None or world.is_answer(last)


def _rollouts(world: World, task: Task, oracle: Trajectory, draw: _Draw, number: int) -> list[Trajectory]:
    """The correct rollout, and wrong rollouts of different makers."""
    before = turn_messages(oracle)[:-1]
    best = _score(world, oracle)
    chosen: dict[str, Trajectory] = {draw.text: oracle}
    start = number % len(MAKERS)
    for maker in (*MAKERS[start:], *MAKERS[:start]):
        for text in maker(draw):
            if text in chosen:
                continue
            one = play(world, world.tools, task, script(*before, Message("assistant", text)), id=f"wrong-{len(chosen)}")
            if one.final_text == text and _score(world, one) < best:
                chosen[text] = one
                break
        if len(chosen) > WRONG:
            break
    return list(chosen.values())


def _score(world: World, one: Trajectory) -> float:
    return float(score_group(world.correct, Group(one.task, (one,)))[1].outcome[0])


def _near(draw: _Draw) -> Iterator[str]:
    """The last number of the text, moved up or down within its number of digits."""
    found = list(re.finditer(r"\d+", draw.text))
    for step in draw.rng.permutation([sign * one for one in NEAR for sign in (1, -1)]) if found else ():
        place = found[-1]
        moved = int(place[0]) + int(step)
        if moved >= 0 and len(str(moved)) == len(place[0]):
            yield draw.text[: place.start()] + str(moved) + draw.text[place.end() :]


def _of_another_task(draw: _Draw) -> Iterator[str]:
    """Answers of other tasks, texts of the same length first."""
    order = [draw.others[k] for k in draw.rng.permutation(len(draw.others))]
    yield from sorted(order, key=lambda text: len(text) != len(draw.text))


def _with_another_character(draw: _Draw) -> Iterator[str]:
    """The text with one other digit, or with one other letter of the same case."""
    for k in draw.rng.permutation(len(draw.text)):
        old = draw.text[k]
        kinds = (string.digits, string.ascii_lowercase, string.ascii_uppercase)
        kind = next((one for one in kinds if old in one), "")
        for new in draw.rng.permutation(list(kind)) if kind else ():
            if new != old and not (new == "0" and k == 0):
                yield draw.text[:k] + str(new) + draw.text[k + 1 :]


def _blank(draw: _Draw) -> Iterator[str]:
    yield draw.blank


MAKERS: tuple[Callable[[_Draw], Iterator[str]], ...] = (_near, _of_another_task, _with_another_character, _blank)
