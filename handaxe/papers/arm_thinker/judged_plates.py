"""World of a judge: which of two images fits a request, where only a zoom shows the difference."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from handaxe.core.errors import Retry
from handaxe.core.images import Image
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.outcome import outcome
from handaxe.tools.decorator import tool
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.plates.scene import SHOWN, SIDE, UNIT, Plate, canvas, draw_plates, overview
from handaxe.worlds.plates.zoom import ZOOM, parse_box
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["ParsedVerdict", "judged_plates", "parse_verdict", "tool_use"]

START = Start(DemonstrationNoise(call_rate=0.4), skill=60, steps=20, batch_size=32, learning_rate=1e-3)
FORM = re.compile(r"(.*): ([12])", re.DOTALL)
ATTEMPT = "<tool_call>"
LIMIT = 50
REQUEST = f"red below {LIMIT}?"


class ParsedVerdict(NamedTuple):
    """thought: text before the verdict. choice: "1" or "2"."""

    thought: str
    choice: str


def judged_plates() -> World:
    """Pairs of images, made for the request "red below 50": the number on the red plate of one of them is below 50.

    Both images have the same plates in the same places, and differ in the handwriting of the red plate. Overviews of 32
    by 32 pixels show no number; the tool `zoom` shows a part of an original of 256 by 256 pixels. The judge answers
    "76: 2", which is the number that was read, and the verdict. A guess is correct half of the time.

    Returns:
        A world broken down by "gold" (1 or 2). No handwriting is in both splits. Gauges: looked (share of rollouts with
        a successful zoom) and formed (share with an answer in the form).

    Raises:
        InputError: scikit-learn or Pillow is missing (extra [plates]).

    Example:
        "red below 50?" and two overviews: zoom {"box": "6 6 8 8", "image": 1} shows 76, so the answer is
        "76: 2"

    Idea: preference pairs of a text-to-image model that differ in a detail, as a judge with tools meets them;
    ARM-Thinker (arXiv:2512.05111).
    """

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_task(split, seed, number) for number in range(count)]

    return World(
        name="judged_plates",
        tasks=tasks,
        env=_env,
        correct=outcome(_correct),
        breakdown=("gold",),
        hidden_keys=("plates", "other"),
        is_answer=lambda turn: parse_verdict(turn.parsed.text) is not None,
        expert=_expert,
        start=START,
        start_model="tiny_vision",
        gauges=GAUGES,
    )


def parse_verdict(text: str) -> ParsedVerdict | None:
    """Read an answer in the exact form; None for another text, or one with a tag of a tool call.

    Example:
        "76: 2" -> ParsedVerdict("76", "2"); "2" -> None
    """
    found = FORM.fullmatch(text.strip())
    return None if found is None or ATTEMPT in text else ParsedVerdict(found[1], found[2])


def tool_use(trajectory: Trajectory) -> tuple[bool, bool]:
    """Return whether a tool was called, and whether a call succeeded."""
    called = any(turn.parsed.calls or turn.parsed.errors for turn in trajectory.turns)
    return called, any(reply.status == "ok" for reply in trajectory.replies)


class _Originals:
    """The two canvases of a task. A view of them changes nothing."""

    def __init__(self, task: Task):
        self._task = task

    @tool(timeout=None)
    def zoom(self, box: str, image: int = 1) -> Image:
        """Show a part of an image in detail.

        Args:
            box: left, top, right and bottom, such as "0 2 4 6"
            image: 1 or 2
        """
        region = parse_box(box)
        if region is None or image not in (1, 2):
            raise Retry(f"give left, top, right, bottom from 0 to {SIDE}, with room between, and the image 1 or 2")
        left, top, right, bottom = region
        drawn = canvas(_scenes(self._task)[image - 1])
        return drawn.crop((UNIT * left, UNIT * top, UNIT * right, UNIT * bottom), longest=SHOWN)

    def snapshot(self) -> None:
        """Return None, the empty state."""

    def restore(self, state: None) -> None:
        """Do nothing."""


def _env(tools: Sequence[Any]) -> EnvFactory:
    def of(task: Task) -> EnvFactory:
        return tool_chat([lambda: _Originals(task), *tools])

    def make(task: Task) -> Env:
        return of(task)(task)

    return inherit_bound(make, of(Task("", (), None)))


def _task(split: Split, seed: int, number: int) -> Task:
    rng = random.Random(derive_seed("judged plates", split, seed, number))
    scene = draw_plates(rng, split)
    other = _other_red(rng, split, scene[0])
    if not _fits(scene[0]):
        scene[0], other = other, scene[0]
    gold = rng.choice("12")
    sides = [tuple(scene), (other, *scene[1:])]
    metadata = {
        "gold": gold,
        "plates": [_dump(plate) for plate in scene],
        "other": _dump(other),
    }
    shown = sides if gold == "1" else sides[::-1]
    asked = Message.of("user", REQUEST, overview(shown[0]), overview(shown[1]))
    read = shown[0][0].number
    answer = f"{read}: {gold}"
    return Task(f"judged_plates-{split}-{seed}-{number}", (asked,), answer, metadata=metadata)


def _other_red(rng: random.Random, split: Split, red: Plate) -> Plate:
    """Draw the red plate again, at its place, with a number on the other side of the limit."""
    while True:
        drawn = draw_plates(rng, split)[0]
        if _fits(drawn) != _fits(red):
            return drawn._replace(left=red.left, top=red.top)


def _fits(red: Plate) -> bool:
    return int(red.number) < LIMIT


def _dump(plate: Plate) -> list[Any]:
    return [plate.colour, plate.left, plate.top, list(plate.digits), list(plate.shifts)]


def _scenes(task: Task) -> tuple[tuple[Plate, ...], tuple[Plate, ...]]:
    """Plates of image 1 and of image 2."""
    fits = tuple(_load(one) for one in task.metadata["plates"])
    other = (_load(task.metadata["other"]), *fits[1:])
    return (fits, other) if task.metadata["gold"] == "1" else (other, fits)


def _load(one: Sequence[Any]) -> Plate:
    colour, left, top, digits, shifts = one
    return Plate(colour, left, top, tuple(digits), tuple(shifts))


def _correct(trajectory: Trajectory) -> float:
    verdict = parse_verdict(trajectory.final_text)
    return float(verdict is not None and verdict.choice == trajectory.task.metadata["gold"])


def _expert(task: Task, facts: Facts) -> Message:
    """Zoom to the red plate of image 1, state its number, and compare it with the limit."""
    if facts["turn"] == 0 and ZOOM in facts["tools"]:
        box = " ".join(map(str, _load(task.metadata["plates"][0]).box))
        return Message("assistant", "", (ToolCall(ZOOM, {"box": box, "image": 1}),))
    return Message("assistant", str(task.answer))


GAUGES = {
    "looked": RatioMetric(lambda one, outcome: float(tool_use(one)[1])),
    "formed": RatioMetric(lambda one, outcome: float(parse_verdict(one.final_text) is not None)),
}
"""Metrics of every evaluation."""
