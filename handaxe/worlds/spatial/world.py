"""Geometry on pixels: points, boxes, depths and positions of coloured marks on a photograph with true depth."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Literal

from handaxe.core.errors import InputError, Retry
from handaxe.core.protocols import Env, EnvFactory, Reward
from handaxe.core.records import Group, Message, Task, Trajectory
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.box_overlap import box_overlap
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.extract import final_text
from handaxe.tools.calculator import calculator
from handaxe.tools.decorator import tool
from handaxe.worlds.parts.answering import is_number_answer
from handaxe.worlds.parts.call_metrics import wasted_calls
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.parts.whole_numbers import whole_numbers
from handaxe.worlds.plates.zoom import parse_box
from handaxe.worlds.spatial.scene import (
    FOCAL,
    MARKS,
    SIDE,
    SceneMark,
    SceneView,
    depth_at,
    draw_view,
    scene_overview,
)
from handaxe.worlds.world import DemonstrationNoise, Split, Start, World

__all__ = ["KINDS", "answer_iou", "answered_box", "answered_point", "gold_point", "spatial", "true_box"]

Kind = Literal["point", "box", "depth", "x"]
KINDS: tuple[Kind, ...] = ("point", "box", "depth", "x")
NOISE = DemonstrationNoise(call_rate=0.7, corrupt_rate=0.1)
START = Start(NOISE, skill=60, steps=20, batch_size=32, learning_rate=1e-3)
POINTER_START = Start(NOISE, skill=70, steps=20, batch_size=32, learning_rate=1e-3)
"""Start of questions with the tool `locate`, where several tools have to be learned."""
LEAST_IOU = 0.5
"""Least overlap of a correct box with the mark's."""
REL_TOL = 0.02
"""Relative tolerance of depths, and absolute tolerance of positions in shares of the depth."""


def spatial(*, kinds: tuple[Kind, ...] = KINDS, pointer: bool = False) -> World:
    """Questions about a mark on a photograph: its point and box, its depth, and its position in space.

        point   centre of the mark, u v                                                "red point?"
        box     left, top, right and bottom of the mark                                "red box?"
        depth   distance z in cm, of the photograph's true disparity                   "red depth?"
        x       x = (u - c) z // f, the distance to the right of the camera in cm      "red x?"

    Places are in units of 32 pixels, from 0 to 8. The overview of 32 by 32 pixels shows the marks as coloured blocks.
    Tools: `depth` of the middle of a box, `camera` (focal length f and middle c in units) and the calculator.

    Args:
        kinds: kinds of questions, drawn evenly.
        pointer: questions name any of four colours, and a tool `locate` gives the box of a mark by its colour. Without
            it, all questions are about the red mark, which the policy finds in the overview.

    Returns:
        A world broken down by "kind". A point is correct inside the mark's box, a box with an IoU of 0.5 or more, a
        depth and a position within 2 % of the depth. No part of the photograph is in both splits. Tasks keep their
        "gold_calls". Gauge: wasted_calls.

    Raises:
        InputError: no kinds, or an unknown one; scikit-image or Pillow is missing (extra [vision]).

    Example:
        "red x?" and an overview: depth {"box": "6 2 8 4"} returns "312", camera {} "62 4", calculator
        {"expression": "(7-4)*312//62"} "15", and the answer is "15"

    Idea: the tools of robots, with images and true depth: TIGeR (arXiv:2510.07181), SpaceTools (arXiv:2512.04069).
    """
    if not kinds or not set(kinds) <= set(KINDS):
        raise InputError(f"kinds are some of {', '.join(KINDS)}: {kinds}")

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_task(split, seed, number, kinds, pointer) for number in range(count)]

    return World(
        name="spatial",
        tasks=tasks,
        env=_env(pointer),
        correct=outcome(_is_correct),
        tools=(calculator,),
        breakdown=("kind",),
        hidden_keys=("view", "gold_calls"),
        is_answer=is_number_answer,
        reference=reference_calls,
        expert=calls_then_answer(lambda task, facts: reference_calls(task)),
        start=POINTER_START if pointer else START,
        start_model="tiny_vision",
        gauges={"wasted_calls": wasted_calls(reference_calls)},
    )


class _Camera:
    """Scene of a task. A measurement changes nothing."""

    def __init__(self, view: SceneView | None):
        self._view = view

    @tool(timeout=None)
    def depth(self, box: str) -> str:
        """Measure the distance of the middle of a part of the image, in cm.

        Args:
            box: left, top, right and bottom, such as "2 4 4 6"
        """
        region = parse_box(box)
        if region is None or self._view is None:
            raise Retry(f"give left, top, right, bottom from 0 to {SIDE}, with room between")
        left, top, right, bottom = region
        found = depth_at(self._view, (left + right) / 2, (top + bottom) / 2)
        if found is None:
            raise Retry("no depth is known at this point")
        return str(found)

    @tool(timeout=None)
    def camera(self) -> str:
        """Look up the camera: its focal length and the middle of its image, in units."""
        if self._view is None:
            raise Retry("there is no camera")
        return f"{FOCAL} {self._view.middle}"

    def snapshot(self) -> None:
        """Return None, the empty state."""

    def restore(self, state: None) -> None:
        """Do nothing."""


class _Pointer(_Camera):
    """Scene of a task with a tool that finds marks."""

    @tool(timeout=None)
    def locate(self, colour: str) -> str:
        """Find a mark: its left, top, right and bottom.

        Args:
            colour: such as "red"
        """
        marks = {mark.colour: mark for mark in (self._view.marks if self._view else ())}
        if colour not in marks:
            raise Retry(f"the colours are {', '.join(MARKS)}")
        return " ".join(map(str, marks[colour].box))


def answered_point(trajectory: Trajectory) -> tuple[int, ...] | None:
    """Return the point that the answer states, in units, or None."""
    return whole_numbers(final_text(trajectory), 2)


def answered_box(trajectory: Trajectory) -> tuple[int, ...] | None:
    """Return the box that the answer states, in units, or None."""
    return whole_numbers(final_text(trajectory), 4)


def gold_point(task: Task) -> tuple[int, int]:
    """Return the centre of the mark in question, in units."""
    return _mark(task).centre


def true_box(task: Task) -> tuple[int, int, int, int]:
    """Return the box of the mark in question, in units."""
    return _mark(task).box


answer_iou: Reward = box_overlap(found=answered_box, gold=true_box)
"""Intersection over union of the answered box and the mark's."""


def _task(split: Split, seed: int, number: int, kinds: Sequence[Kind], pointer: bool) -> Task:
    rng = random.Random(derive_seed("spatial", split, seed, number))
    kind = rng.choice(tuple(kinds))
    view = draw_view(rng, split)
    mark = rng.choice(view.marks) if pointer else view.marks[0]
    gold: list[dict[str, Any]] = [{"name": "locate", "arguments": {"colour": mark.colour}}] if pointer else []
    depth, column = depth_at(view, *mark.centre) or 0, mark.centre[0]
    if kind in ("depth", "x"):
        gold.append({"name": "depth", "arguments": {"box": " ".join(map(str, mark.box))}})
    if kind == "x":
        gold.append({"name": "camera", "arguments": {}})
        expression = f"({column}-{view.middle})*{depth}//{FOCAL}".replace("--", "+")
        gold.append({"name": "calculator", "arguments": {"expression": expression}})
    answers = {
        "point": " ".join(map(str, mark.centre)),
        "box": " ".join(map(str, mark.box)),
        "depth": str(depth),
        "x": str((column - view.middle) * depth // FOCAL),
    }
    metadata = {
        "kind": kind,
        "gold_calls": gold,
        "colour": mark.colour,
        "view": [view.middle, view.top, [list(one) for one in view.marks]],
    }
    asked = Message.of("user", f"{mark.colour} {kind}?", scene_overview(view))
    return Task(f"spatial-{split}-{seed}-{number}", (asked,), answers[kind], metadata=metadata)


def _view(task: Task) -> SceneView:
    """Parse the scene of a task."""
    middle, top, marks = task.metadata["view"]
    return SceneView(middle, top, tuple(SceneMark(*one) for one in marks))


def _mark(task: Task) -> SceneMark:
    return next(one for one in _view(task).marks if one.colour == task.metadata["colour"])


def _env(pointer: bool) -> Callable[[Sequence[Any]], EnvFactory]:
    made = _Pointer if pointer else _Camera

    def env(tools: Sequence[Any]) -> EnvFactory:
        # Raises early for bad tools, and bounds the number of open environments.
        probe = tool_chat([lambda: made(None), *tools])

        def make(task: Task) -> Env:
            return tool_chat([lambda: made(_view(task)), *tools])(task)

        return inherit_bound(make, probe)

    return env


def _is_correct(trajectory: Trajectory) -> float:
    task, kind = trajectory.task, trajectory.task.metadata["kind"]
    left, top, right, bottom = true_box(task)
    if kind == "point":
        point = answered_point(trajectory)
        return float(point is not None and left <= point[0] <= right and top <= point[1] <= bottom)
    if kind == "box":
        return float(answer_iou(Group(task, (trajectory,))).outcome[0] >= LEAST_IOU)
    try:
        value = float(final_text(trajectory)[:20])
    except ValueError:
        return 0.0
    depth = depth_at(_view(task), *gold_point(task)) or 0
    return float(abs(value - float(str(task.answer))) <= REL_TOL * depth)
