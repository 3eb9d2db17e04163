"""Plates with handwritten numbers: the overview shows the place of each plate, and a zoom its number."""

from __future__ import annotations

import random

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Message, Task, ToolCall, Trajectory
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.answer_score import answer_score
from handaxe.rewards.box_overlap import box_overlap
from handaxe.worlds.parts.answering import is_number_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.plates.scene import Plate, canvas, draw_plates, handwriting, overview
from handaxe.worlds.plates.zoom import ZOOM, last_zoom, zoom_env
from handaxe.worlds.world import DemonstrationNoise, Expert, Facts, Split, Start, World

__all__ = ["last_zoom", "plates", "zoom_iou"]

START = Start(
    DemonstrationNoise(call_rate=0.35, spurious_rate=0.3, corrupt_rate=0.1),
    skill=0,
    steps=40,
    batch_size=32,
    learning_rate=1e-3,
)

COMMON = "17"
"""Number of a share of the questions, see `plates`."""


def plates(*, needed: float = 0.75, zoom: bool = True, common: float = 0.0, guessed: float = 0.0) -> World:
    """Five coloured plates with two-digit numbers in real handwriting; the question is about the red one.

    The overview of 32 by 32 pixels shows plates, and no number. The tool `zoom` shows a part of the original of 256 by
    256 pixels. A share of the questions asks for the place of the plate, so that a zoom is needless.

    Args:
        needed: share of questions that need the tool, 0 to 1.
        zoom: offer the tool; False for the control without, whose expert states numbers that nobody can see.
        common: share of the questions for the tool with the number 17, 0 to 1; a guess is correct in this share.
        guessed: share of the questions for the tool in which the expert states the number without a zoom, 0 to 1, so
            that a policy that starts from its demonstrations guesses among the numbers of the world.

    Returns:
        A world broken down by "needs_tool". No handwriting is in both splits. Gauges: iou (overlap of the last zoom
        with the plate, on questions that need the tool) and looked (share of rollouts with a successful zoom).

    Raises:
        InputError: an argument out of range; scikit-learn or Pillow is missing (extra [plates]).

    Example:
        "red?" and an overview: zoom {"box": "6 6 8 8"} shows the plate, and the answer is "90";
        "red at?" and the same overview is "6 6"

    Idea: the setting of DeepEyes (arXiv:2505.14362), an image whose details a policy sees only in a crop.
    """
    if not 0 <= needed <= 1:
        raise InputError(f"plates takes a share needed of 0 to 1, not {needed}")
    if not 0 <= common <= 1 or not 0 <= guessed <= 1:
        raise InputError(f"plates takes shares common and guessed of 0 to 1, not {common} and {guessed}")

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_task(split, seed, number, needed, common) for number in range(count)]

    return World(
        name="plates",
        tasks=tasks,
        env=zoom_env(lambda task: canvas(_plates(task)), zoom=zoom),
        correct=answer_score(scorer=lambda task, text: float(text.strip() == task.answer)),
        breakdown=("needs_tool",),
        hidden_keys=("plates",),
        is_answer=is_number_answer,
        expert=_expert(guessed),
        start=START,
        start_model="tiny_vision",
        gauges=GAUGES,
    )


zoom_iou: Reward = box_overlap(found=last_zoom, gold=lambda task: task.metadata["gold"])
"""Intersection over union of the last zoom and the plate in question."""


def _task(split: Split, seed: int, number: int, needed: float, common: float) -> Task:
    rng = random.Random(derive_seed("plates", split, seed, number))
    looks = rng.random() < needed
    scene = draw_plates(rng, split)
    if looks and rng.random() < common:
        first, second = (rng.choice(handwriting(split)[int(digit)]) for digit in COMMON)
        scene[0] = scene[0]._replace(digits=(first, second))
    red = scene[0]
    question, answer = ("red?", red.number) if looks else ("red at?", f"{red.left} {red.top}")
    metadata = {
        "needs_tool": "yes" if looks else "no",
        "gold": list(red.box),
        "plates": [[one.colour, one.left, one.top, list(one.digits), list(one.shifts)] for one in scene],
    }
    asked = Message.of("user", question, overview(scene))
    return Task(f"plates-{split}-{seed}-{number}", (asked,), answer, metadata=metadata)


def _plates(task: Task) -> tuple[Plate, ...]:
    """Parse the scene of a task."""
    return tuple(
        Plate(colour, left, top, tuple(digits), tuple(shifts))
        for colour, left, top, digits, shifts in task.metadata["plates"]
    )


def _expert(guessed: float) -> Expert:
    def expert(task: Task, facts: Facts) -> Message:
        """Zoom to the plate if the question needs it or the expert is unsure; then answer."""
        guesses = random.Random(derive_seed("plates guess", task.id)).random() < guessed
        looks = task.metadata["needs_tool"] == "yes" and not guesses
        looks = looks or not facts.get("sure", True)
        if looks and facts["turn"] == 0 and ZOOM in facts["tools"]:
            box = " ".join(map(str, task.metadata["gold"]))
            return Message("assistant", "", (ToolCall(ZOOM, {"box": box}),))
        return Message("assistant", str(task.answer))

    return expert


def _overlap(trajectory: Trajectory) -> float:
    return float(zoom_iou(Group(trajectory.task, (trajectory,))).outcome[0])


def _needs(trajectory: Trajectory) -> float:
    return float(trajectory.task.metadata["needs_tool"] == "yes")


GAUGES = {
    "iou": RatioMetric(lambda one, outcome: _overlap(one) * _needs(one), lambda one, outcome: _needs(one)),
    "looked": RatioMetric(lambda one, outcome: float(last_zoom(one) is not None)),
}
"""Metrics of every evaluation."""
