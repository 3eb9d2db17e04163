"""Arithmetic questions and three kinds of questions about screens, each with its own correctness rule."""

from __future__ import annotations

from dataclasses import replace

from handaxe.core.metrics import Measure, RatioMetric
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Trajectory
from handaxe.rewards.box_overlap import box_overlap
from handaxe.rewards.dispatch import dispatch
from handaxe.rewards.numeric_match import numeric_match
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.mixture import PART, mixture
from handaxe.worlds.screen.layout import gold_box, predicted_box
from handaxe.worlds.screen.world import screen
from handaxe.worlds.world import DemonstrationNoise, Start, World

__all__ = ["PARTS", "arithmetic_and_screens", "score_parts"]

PARTS = ("sums", "box", "number", "words")
START = Start(
    DemonstrationNoise(call_rate=0.7, corrupt_rate=0.2), skill=250, steps=40, batch_size=16, learning_rate=2e-3
)
IOU = box_overlap(found=predicted_box, gold=gold_box)


def arithmetic_and_screens(*, boxes: int = 2, loose: float = 0.2) -> World:
    """A cycle of four questions: arithmetic with a calculator, and a box, a width and a description on a screen.

    Args:
        boxes: boxes on a screen, 1 to 6.
        loose: deviation of the expert's boxes, see `worlds.screen.world`.

    Returns:
        A world broken down by "part": sums, box, number or words. An answer is correct if it is correct in the world of
        its question. Gauges: iou of the predicted boxes, and words, the length of an answer to a "words" question.

    Raises:
        InputError: an argument out of range.

    Example:
        "12*34=?" -> "408", "... box of tok?" -> "12 30 40 46", "... width of tok?" -> "28", "... tok?" -> "a small box
        at the bottom left", and so on

    Idea: answers that one reward cannot score: a number, a box and a sentence.
    """
    parts = {
        "sums": arithmetic(),
        "box": screen(answer="box", boxes=boxes, loose=loose),
        "number": screen(answer="number", boxes=boxes),
        "words": screen(answer="words", boxes=boxes),
    }
    return replace(
        mixture(parts, name="arithmetic_and_screens"),
        curriculum=None,
        start=START,
        gauges={"iou": RatioMetric(_iou, _count("box")), "words": RatioMetric(_words, _count("words"))},
    )


def score_parts(*, words: Reward, rel_tol: float = 0.05) -> Reward:
    """Score each part by a separate rule: sums by the number, boxes by overlap with the target, widths within
    `rel_tol`, and descriptions by `words`.

    Example:
        score_parts(words=token_f1()) scores 0.5 for a box over half of the target, and the word F1 of a description
    """
    widths = numeric_match(rel_tol=rel_tol)
    return dispatch(key=PART, rewards={"sums": arithmetic().correct, "box": IOU, "number": widths, "words": words})


def _is_part(part: str, trajectory: Trajectory) -> float:
    return float(trajectory.task.metadata[PART] == part)


def _count(part: str) -> Measure:
    return lambda trajectory, outcome: _is_part(part, trajectory)


def _iou(trajectory: Trajectory, outcome: float) -> float:
    del outcome
    return float(IOU(Group(trajectory.task, (trajectory,))).outcome[0]) if _is_part("box", trajectory) else 0.0


def _words(trajectory: Trajectory, outcome: float) -> float:
    del outcome
    return len(trajectory.final_text.split()) * _is_part("words", trajectory)
