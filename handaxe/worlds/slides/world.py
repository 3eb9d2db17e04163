"""Tissue with a stained structure to find, to segment and to measure: a wrong crop is corrected by another.

Kept: a world of images with masks for users.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from handaxe.core.errors import InputError, Retry
from handaxe.core.images import Image
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory, Reward
from handaxe.core.records import Group, Message, Task, ToolCall, Trajectory
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.box_overlap import box_overlap
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.extract import final_text
from handaxe.tools.decorator import tool
from handaxe.tools.segment import ImageSegment
from handaxe.worlds.parts.answering import is_number_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.whole_numbers import whole_numbers
from handaxe.worlds.plates.zoom import Box, parse_box
from handaxe.worlds.slides.scene import (
    SHOWN,
    SIDE,
    UNIT,
    Slide,
    Structure,
    dice,
    draw_slide,
    segment_slide,
    slide_image,
    slide_overview,
)
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["answer_iou", "look_iou", "mask_dice", "other_look", "slides"]

START = Start(
    DemonstrationNoise(call_rate=0.8, spurious_rate=0.3, corrupt_rate=0.1),
    skill=90,
    steps=20,
    batch_size=32,
    learning_rate=1e-3,
)
TOOLS = ("zoom", "segment", "measure")
LEAST_IOU = 0.5
"""Least overlap of a correct box with the structure's."""
LARGEST_ERROR = 0.2
"""Largest relative error of a correct area."""
POOR = 0.5
"""A look with less overlap with the structure's cell is poor."""


def slides(*, needed: float = 0.75, rings: float = 0.5) -> World:
    """Stained structures on medical images; the question is about the solid red one.

    The overview of 32 by 32 pixels shows the place of each stain, and no shape. `zoom` shows a part of the slide of 256
    by 256 pixels, `segment` a mask of the largest structure in a part and its box, `measure` the area of that mask. In
    some scenes a red ring looks like the structure in the overview: a policy that looks at the ring first has to look
    again. The expert knows the place of the structure.

    Args:
        needed: share of questions that need the tools, 0 to 1: half for the structure's box, half for its area. The
            others ask for the place of its cell.
        rings: share of the questions for the tools with a ring in the scene, 0 to 1.

    Returns:
        A world broken down by "needs_tool" and "kind". A box is correct with an IoU of 0.5 or more, an area within 20 %
        of the mask's. No part of an image is in both splits. Gauges: iou (overlap of the last look with the structure's
        cell, on questions that need the tools), dice (of the last mask, likewise), looked (share of rollouts with a
        successful call), and corrected (share of rollouts with a later look at the structure's cell, among those with a
        first look elsewhere).

    Raises:
        InputError: a share out of range; scikit-image or Pillow is missing (extra [vision]).

    Example:
        "red box?" and an overview: zoom {"box": "0 2 2 4"} shows the structure, segment {"box": "0 2 2 4"} replies
        "12 76 49 109" and a mask, and the answer is "12 76 49 109"

    Idea: the tasks of Ophiuchus (arXiv:2512.14157): detection, segmentation and questions about medical images.
    """
    if not 0 <= needed <= 1 or not 0 <= rings <= 1:
        raise InputError(f"slides takes shares needed and rings of 0 to 1, not {needed} and {rings}")

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_task(split, seed, number, needed, rings) for number in range(count)]

    return World(
        name="slides",
        tasks=tasks,
        env=_env,
        correct=outcome(_is_correct),
        breakdown=("needs_tool", "kind"),
        hidden_keys=("slide",),
        is_answer=is_number_answer,
        expert=_expert,
        start=START,
        start_model="tiny_vision",
        gauges=GAUGES,
    )


class _Microscope:
    """Slide of a task. A look changes nothing."""

    def __init__(self, slide: Slide | None):
        self._slide = slide

    @tool(timeout=None)
    def zoom(self, box: str) -> Image:
        """Show a part of the slide in detail.

        Args:
            box: left, top, right and bottom, such as "0 2 4 6"
        """
        slide, region = self._need(box)
        return slide_image(slide).crop(_pixels(region), longest=SHOWN)

    @tool(timeout=None)
    def segment(self, box: str) -> list[Any]:
        """Find the largest structure in a part of the slide: its box in pixels, and its mask.

        Args:
            box: left, top, right and bottom, such as "0 2 4 6"
        """
        slide, region = self._need(box)
        found = _found(slide, region)
        mask = Image.of(found.mask.astype(np.uint8) * 255).crop(_pixels(region), longest=SHOWN)
        return [" ".join(map(str, found.box)), mask]

    @tool(timeout=None)
    def measure(self, box: str) -> str:
        """Measure the area of the largest structure in a part of the slide, in pixels.

        Args:
            box: left, top, right and bottom, such as "0 2 4 6"
        """
        slide, region = self._need(box)
        return str(_found(slide, region).area)

    def snapshot(self) -> None:
        """Return None, the empty state."""

    def restore(self, state: None) -> None:
        """Do nothing."""

    def _need(self, box: str) -> tuple[Slide, Box]:
        region = parse_box(box)
        if region is None or self._slide is None:
            raise Retry(f"give left, top, right, bottom from 0 to {SIDE}, with room between")
        return self._slide, region


def other_look(task: Task, call: ToolCall, rng: random.Random) -> ToolCall | None:
    """Create a zoom to the cell of the ring, or without a ring to any cell but the structure's; for `add_mistakes`.

    Returns None if the call is none of a tool of this world.
    """
    if call.name not in TOOLS:
        return None
    gold = tuple(task.metadata["gold"])
    cells = [one.cell for one in _slide(task).structures if not one.solid]
    cells = cells or [(x, y, x + 2, y + 2) for y in range(0, SIDE, 2) for x in range(0, SIDE, 2)]
    cell = rng.choice([one for one in cells if one != gold])
    return ToolCall("zoom", {"box": " ".join(map(str, cell))})


def _answered_box(trajectory: Trajectory) -> tuple[int, ...] | None:
    return whole_numbers(final_text(trajectory), 4)


def _structure_box(task: Task) -> Box:
    return _slide(task).structures[0].box


answer_iou: Reward = box_overlap(found=_answered_box, gold=_structure_box)
"""Intersection over union of the answered box and the structure's."""
look_iou: Reward = box_overlap(
    found=lambda one: looks[-1] if (looks := _looks(one)) else None, gold=lambda task: task.metadata["gold"]
)
"""Intersection over union of the last look and the structure's cell."""


def _dice(trajectory: Trajectory) -> float:
    """Dice of the last mask that `segment` or `measure` made, and the structure's; 0 without a mask."""
    regions = _looks(trajectory, ("segment", "measure"))
    found = segment_slide(_slide(trajectory.task), regions[-1]) if regions else None
    if found is None:
        return 0.0
    return dice(_slide(trajectory.task).structures[0].mask, found.mask)


mask_dice: Reward = outcome(_dice)
"""Dice of the last mask: twice the common pixels over the pixels of both."""


def _task(split: Split, seed: int, number: int, needed: float, rings: float) -> Task:
    rng = random.Random(derive_seed("slides", split, seed, number))
    kind = rng.choice(("box", "area")) if rng.random() < needed else "at"
    slide = draw_slide(rng, split, ring=kind != "at" and rng.random() < rings)
    red = slide.structures[0]
    answers = {
        "box": " ".join(map(str, red.box)),
        "area": str(int(red.mask.sum())),
        "at": f"{red.left} {red.top}",
    }
    metadata = {
        "needs_tool": "no" if kind == "at" else "yes",
        "kind": kind,
        "gold": list(red.cell),
        "slide": [slide.source, slide.left, slide.top, [list(one) for one in slide.structures]],
    }
    asked = Message.of("user", f"red {kind}?", slide_overview(slide))
    return Task(f"slides-{split}-{seed}-{number}", (asked,), answers[kind], metadata=metadata)


def _slide(task: Task) -> Slide:
    """Parse the scene of a task."""
    source, left, top, structures = task.metadata["slide"]
    return Slide(source, left, top, tuple(Structure(*one) for one in structures))


def _env(tools: Sequence[Any]) -> EnvFactory:
    # Raises early for bad tools, and bounds the number of open environments.
    probe = tool_chat([lambda: _Microscope(None), *tools])

    def make(task: Task) -> Env:
        return tool_chat([lambda: _Microscope(_slide(task)), *tools])(task)

    return inherit_bound(make, probe)


def _expert(task: Task, facts: Facts) -> Message:
    """Zoom to the structure, segment or measure it, and repeat the reply."""
    kind, replies = task.metadata["kind"], facts["replies"]
    if (kind == "at" and facts.get("sure", True)) or not set(TOOLS) <= set(facts["tools"]):
        return Message("assistant", str(task.answer))
    names = {"at": ("zoom",), "box": ("zoom", "segment"), "area": ("zoom", "measure")}[kind]
    if facts["turn"] < len(names):
        box = " ".join(map(str, task.metadata["gold"]))
        return Message("assistant", "", (ToolCall(names[facts["turn"]], {"box": box}),))
    if kind == "at" or not replies:
        return Message("assistant", str(task.answer))
    return Message("assistant", "".join(one for one in replies[-1] if one.isdigit() or one == " ").strip())


def _is_correct(trajectory: Trajectory) -> float:
    task, text = trajectory.task, final_text(trajectory).strip()
    if task.metadata["kind"] == "at":
        return float(text == task.answer)
    if task.metadata["kind"] == "box":
        return float(answer_iou(Group(task, (trajectory,))).outcome[0] >= LEAST_IOU)
    if not (text.isascii() and text.isdigit() and len(text) < 7):
        return 0.0
    return float(abs(int(text) - int(str(task.answer))) <= LARGEST_ERROR * int(str(task.answer)))


def _looks(trajectory: Trajectory, names: Sequence[str] = TOOLS) -> list[Box]:
    """Boxes of the successful calls of the named tools, in units, in order."""
    found = []
    for turn in trajectory.turns:
        done = {reply.call_id for reply in turn.replies if reply.status == "ok" and reply.name in names}
        found += [parse_box(str(call.arguments.get("box"))) for call in turn.parsed.calls if call.id in done]
    return [one for one in found if one is not None]


def _found(slide: Slide, region: Box) -> ImageSegment:
    found = segment_slide(slide, region)
    if found is None:
        raise Retry("nothing stands out in this part")
    return found


def _pixels(region: Box) -> Box:
    left, top, right, bottom = region
    return (UNIT * left, UNIT * top, UNIT * right, UNIT * bottom)


def _needs(trajectory: Trajectory) -> float:
    return float(trajectory.task.metadata["needs_tool"] == "yes")


def _poor_looks(trajectory: Trajectory) -> list[bool]:
    """Whether each look has little overlap with the structure's cell, in order."""
    found = []
    for look in _looks(trajectory):
        reward = box_overlap(found=lambda _, look=look: look, gold=lambda task: task.metadata["gold"])  # type: ignore[misc]
        found.append(float(reward(Group(trajectory.task, (trajectory,))).outcome[0]) < POOR)
    return found


def _astray(trajectory: Trajectory) -> bool:
    return _poor_looks(trajectory)[:1] == [True]


def _score(reward: Reward) -> Callable[[Trajectory], float]:
    return lambda one: float(reward(Group(one.task, (one,))).outcome[0])


GAUGES = {
    "iou": RatioMetric(lambda one, outcome: _score(look_iou)(one) * _needs(one), lambda one, outcome: _needs(one)),
    "dice": RatioMetric(lambda one, outcome: _dice(one) * _needs(one), lambda one, outcome: _needs(one)),
    "looked": RatioMetric(lambda one, outcome: float(bool(_looks(one)))),
    "corrected": RatioMetric(
        lambda one, outcome: float(_astray(one) and not all(_poor_looks(one))),
        lambda one, outcome: float(_astray(one)),
    ),
}
"""Metrics of every evaluation."""
