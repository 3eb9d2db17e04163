"""Arithmetic questions and four kinds of questions about images of charts, each with its own correctness rule."""

from __future__ import annotations

from dataclasses import replace

from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Trajectory
from handaxe.rewards.box_overlap import box_overlap
from handaxe.rewards.dispatch import dispatch
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.numeric_match import numeric_match
from handaxe.rewards.parts.extract import final_text
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.charts.world import charts, stated_box
from handaxe.worlds.mixture import PART, mixture, part_gauge
from handaxe.worlds.world import DemonstrationNoise, Start, World

__all__ = ["PARTS", "arithmetic_and_charts", "score_parts"]

PARTS = ("sums", "choice", "number", "box", "words")
TOLERANCE = 0.05
START = Start(
    DemonstrationNoise(call_rate=0.7, corrupt_rate=0.2), skill=80, steps=20, batch_size=16, learning_rate=2e-3
)
IOU = box_overlap(found=stated_box, gold=lambda task: task.metadata["gold"])


def arithmetic_and_charts() -> World:
    """A cycle of five questions: arithmetic with a calculator, and the higher of two bars, the value, the box and a
    description of the red bar, about images of charts.

    Returns:
        A world broken down by "part": sums, choice, number, box or words. An answer is correct if it is correct in the
        world of its question; a value may deviate by 5 %. Gauges: iou of the stated boxes, and words, the length of an
        answer to a "words" question.

    Raises:
        InputError: vega_datasets, scikit-learn or Pillow is missing (extras [charts] and [plates]).

    Example:
        "12*34=?" -> "408", "red or a?" -> "a", "red?" -> zoom, "37", "red at?" -> "2 3 4 8", "say red?" -> "a low bar
        at the far right", and so on

    Idea: answers that one reward cannot score: a choice, a number, a box and a sentence.
    """
    parts = {
        "sums": arithmetic(),
        "choice": charts(kinds=("larger",), zoom=False),
        "number": charts(kinds=("value",), tolerance=TOLERANCE),
        "box": charts(kinds=("box",), zoom=False),
        "words": charts(kinds=("words",), zoom=False),
    }
    return replace(
        mixture(parts, name="arithmetic_and_charts"),
        curriculum=None,
        start=START,
        start_model="tiny_vision",
        gauges={"iou": part_gauge("box", _iou), "words": part_gauge("words", _words)},
    )


def score_parts(*, words: Reward, rel_tol: float = TOLERANCE) -> Reward:
    """Score each part by a separate rule: sums by the number, choices by equal text, values within `rel_tol`, boxes by
    overlap with the bar, and descriptions by `words`.

    Example:
        score_parts(words=token_f1()) scores 0.5 for a box over half of the bar, and the word F1 of a description
    """
    rules = {
        "sums": arithmetic().correct,
        "choice": exact_match(),
        "number": numeric_match(extract=final_text, rel_tol=rel_tol),
        "box": IOU,
        "words": words,
    }
    return dispatch(key=PART, rewards=rules)


def _iou(trajectory: Trajectory) -> float:
    return float(IOU(Group(trajectory.task, (trajectory,))).outcome[0])


def _words(trajectory: Trajectory) -> float:
    return float(len(trajectory.final_text.split()))
