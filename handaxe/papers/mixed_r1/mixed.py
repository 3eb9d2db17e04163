"""Several kinds of questions in one world, each answered and judged in its own way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.metrics import Measure, RatioMetric
from handaxe.core.protocols import EnvFactory, Reward
from handaxe.core.records import Group, Message, Task, Trajectory
from handaxe.envs.by_task import by_task as env_by_task
from handaxe.rewards.box_overlap import box_overlap
from handaxe.rewards.by_task import by_task as reward_by_task
from handaxe.rewards.numeric_match import numeric_match
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.screen.layout import gold_box, said_box
from handaxe.worlds.screen.world import screen
from handaxe.worlds.sums import sums
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["PARTS", "judged", "mixed"]

PARTS = ("sums", "box", "number", "words")
START = Start(DemonstrationNoise(needed=0.7, clumsy=0.2), skill=250, steps=40, batch_size=16, learning_rate=2e-3)
IOU = box_overlap(found=said_box, gold=gold_box)


def mixed(*, boxes: int = 2, loose: float = 0.2) -> World:
    """Sums with a calculator, and boxes, widths and descriptions of boxes on a screen that is told; in turn.

    Args:
        boxes: on a screen, 1 to 6.
        loose: of the expert's boxes, see `worlds.screen.world`.

    Returns:
        A world broken down by "part", one of PARTS, which its tasks have in their metadata. Right is what is right in
        the world of that part. Gauges: iou of the boxes said, and words, how many an answer to a "words" question has.

    Raises:
        InputError: an argument out of range.

    Example:
        "12*34=?" -> "408", "... box of tok?" -> "12 30 40 46", "... width of tok?" -> "28", "... tok?" -> "a small box
        at the bottom left", and so on

    Idea: what one reward cannot judge: a number, a box and a sentence.
    """
    worlds = {
        "sums": sums(),
        "box": screen(answer="box", boxes=boxes, loose=loose),
        "number": screen(answer="number", boxes=boxes),
        "words": screen(answer="words", boxes=boxes),
    }

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        lists = [worlds[part].tasks(split, -(-count // len(PARTS)), seed) for part in PARTS]
        return [_of_part(lists[i % len(PARTS)][i // len(PARTS)], PARTS[i % len(PARTS)]) for i in range(count)]

    def expert(task: Task, facts: Facts) -> Message:
        speaker = worlds[task.metadata["part"]].expert
        if speaker is None:
            raise InputError(f"part {task.metadata['part']!r} has no expert")
        return speaker(task, facts)

    def env(offered: Sequence[Any]) -> EnvFactory:
        return env_by_task("part", {part: worlds[part].env(offered if part == "sums" else ()) for part in PARTS})

    return World(
        name="mixed",
        tasks=tasks,
        env=env,
        correct=reward_by_task(key="part", rewards={part: worlds[part].correct for part in PARTS}),
        tools=worlds["sums"].tools,
        by=("part",),
        expert=expert,
        start=START,
        gauges={"iou": RatioMetric(_iou, _of("box")), "words": RatioMetric(_words, _of("words"))},
    )


def judged(*, words: Reward, rel_tol: float = 0.05) -> Reward:
    """Judge each part of the mix in its own way: sums by their number, boxes by their overlap with the target, widths
    within `rel_tol`, and descriptions by the reward given.

    Example:
        judged(words=token_f1()) gives half of a box a half, and a description its word F1
    """
    widths = numeric_match(rel_tol=rel_tol)
    return reward_by_task(key="part", rewards={"sums": sums().correct, "box": IOU, "number": widths, "words": words})


def _of_part(task: Task, part: str) -> Task:
    return replace(task, metadata={**task.metadata, "part": part})


def _is(part: str, attempt: Trajectory) -> float:
    return float(attempt.task.metadata["part"] == part)


def _of(part: str) -> Measure:
    return lambda attempt, outcome: _is(part, attempt)


def _iou(attempt: Trajectory, outcome: float) -> float:
    del outcome
    return float(IOU(Group(attempt.task, (attempt,))).outcome[0]) if _is("box", attempt) else 0.0


def _words(attempt: Trajectory, outcome: float) -> float:
    del outcome
    return len(attempt.final_text.split()) * _is("words", attempt)
