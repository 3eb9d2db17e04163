"""Tasks of creative tool use in words: tool selection, sequential tool use and tool manufacturing."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.papers.robotool.workbench import FORCE, LIFT, REACH, STEP, WEIGHT, BenchThing

__all__ = ["BenchScene", "CATEGORIES", "ToolTask", "draw_task", "read_scene", "scene_text"]

CATEGORIES: Mapping[str, str] = {
    "milk": "selection",
    "gap": "selection",
    "can": "sequential",
    "sofa": "sequential",
    "button": "manufacturing",
    "crate": "manufacturing",
}
"""Target of a kind of task -> its category."""
MISSIONS: Mapping[str, str] = {
    "milk": "Hold the milk.",
    "gap": "Get across the gap.",
    "can": "Hold the can.",
    "sofa": "Get onto the sofa.",
    "button": "Press the button.",
    "crate": "Lift the crate at its near end.",
}
ROBOT = (
    f"The robot is at 0. Its hand reaches {REACH:g} and lifts {LIFT:g} kg. It weighs {WEIGHT:g} kg, steps up "
    f"{STEP:g} cm and presses down with {FORCE:g} kg."
)
LINE = re.compile(
    r"- (\w+): at ([\d.]+), length ([\d.]+), height ([\d.]+), mass ([\d.]+), carries ([\d.]+)((?:, \w+)*)"
)


class ToolTask(NamedTuple):
    """A task: target, things in drawn order with the target first, and its text."""

    target: str
    things: tuple[BenchThing, ...]

    @property
    def text(self) -> str:
        """Mission, robot and things in words; what every role reads."""
        return scene_text(self.target, self.things)


class BenchScene(NamedTuple):
    """Content of a description: the target, and the things by name in order."""

    target: str
    things: Mapping[str, BenchThing]

    @property
    def tools(self) -> list[BenchThing]:
        """Things other than the target."""
        return [one for name, one in self.things.items() if name != self.target]


def scene_text(target: str, things: Sequence[BenchThing]) -> str:
    """Describe a task in words.

    Example:
        a line "- hammer: at 30, length 40, height 5, mass 1, carries 5, rigid, hook"
    """
    return "\n".join([MISSIONS[target], ROBOT, "Centimetres and kilograms:", *map(_line, things)])


def read_scene(text: str) -> BenchScene:
    """Read a description of `scene_text`.

    Raises:
        InputError: the text has no mission or no things.

    Example:
        read_scene(task.text).things == {one.name: one for one in task.things}
    """
    target = next((name for name, words in MISSIONS.items() if text.startswith(words)), "")
    things = {}
    for name, at, length, height, mass, strength, words in LINE.findall(text):
        own = {key: f", {key}" in words for key in ("rigid", "hook", "magnetic")}
        things[name] = BenchThing(name, float(at), float(length), float(height), float(mass), float(strength), **own)
    if not target or target not in things:
        raise InputError(f"{text[:60]!r} describes no task")
    return BenchScene(target, things)


def draw_task(target: str, seed: int) -> ToolTask:
    """Draw a task; one choice of tools solves it.

    Args:
        target: a key of CATEGORIES.
        seed: of numbers and order of the things.

    Raises:
        InputError: an unknown target.

    Paper: arXiv:2310.13065 (RoboTool), six tasks of tool selection, sequential tool use and tool manufacturing.
    Unconfirmed: the division of the six tasks, and their things (from memory).
    Differs: tasks are drawn, on a line.
    """
    if target not in CATEGORIES:
        raise InputError(f"{target!r} is no target: {', '.join(CATEGORIES)}")
    rng = random.Random(f"robotool {target} {seed}")
    aim, *others = DRAWS[target](rng)
    rng.shuffle(others)
    return ToolTask(target, (aim, *others))


def _line(one: BenchThing) -> str:
    numbers = (
        f"at {one.at:g}, length {one.length:g}, height {one.height:g}, mass {one.mass:g}, carries {one.strength:g}"
    )
    words = [key for key in ("rigid", "hook", "magnetic") if getattr(one, key)]
    return ", ".join([f"- {one.name}: {numbers}", *words])


def _place(rng: random.Random) -> float:
    return float(rng.randrange(15, 60))


def _milk(rng: random.Random) -> list[BenchThing]:
    far = float(rng.randrange(85, 100))
    need = far - REACH
    return [
        BenchThing("milk", far),
        BenchThing("hammer", _place(rng), need + rng.randrange(2, 8), hook=True),
        BenchThing("umbrella", _place(rng), need - rng.randrange(4, 12), hook=True),
        BenchThing("ruler", _place(rng), need + 20),
        BenchThing("chain", _place(rng), need + 30, rigid=False, hook=True),
    ]


def _gap(rng: random.Random) -> list[BenchThing]:
    start, width = float(rng.randrange(70, 90)), float(rng.randrange(30, 45))
    return [
        BenchThing("gap", start, width),
        BenchThing("surfboard", _place(rng), width + rng.randrange(14, 24), mass=4, strength=60),
        BenchThing("foam", _place(rng), width + 30, strength=3, rigid=False),
        BenchThing("shelf", _place(rng), width - 4, mass=4, strength=80),
        BenchThing("poster", _place(rng), width + 40, strength=1),
    ]


def _can(rng: random.Random) -> list[BenchThing]:
    middle, far = float(rng.randrange(70, 80)), float(rng.randrange(105, 120))
    return [
        BenchThing("can", far),
        BenchThing("fork", _place(rng), middle - REACH + rng.randrange(3, 8), hook=True),
        BenchThing("rake", middle, far - REACH + rng.randrange(3, 8), hook=True),
        BenchThing("spoon", _place(rng), middle - REACH - 5, hook=True),
        BenchThing("pole", _place(rng), far - REACH + 10),
        BenchThing("rope", _place(rng), 90, rigid=False, hook=True),
    ]


def _sofa(rng: random.Random) -> list[BenchThing]:
    return [
        BenchThing("sofa", float(rng.randrange(110, 130)), 80, height=60, mass=50, strength=200),
        BenchThing("box", _place(rng), 20, height=40, mass=3, strength=80),
        BenchThing("stool", _place(rng), 20, height=20, mass=3, strength=80),
        BenchThing("cushion", _place(rng), 20, height=40, rigid=False),
        BenchThing("cabinet", _place(rng), 20, height=55, mass=4, strength=80),
        BenchThing("pillow", _place(rng), 20, height=20, rigid=False),
    ]


def _button(rng: random.Random) -> list[BenchThing]:
    far = REACH + float(rng.choice((25, 35)))
    cubes = [BenchThing(f"cube_{k}", _place(rng), magnetic=True) for k in range(1, 6)]
    return [
        BenchThing("button", far),
        *cubes,
        BenchThing("brick", _place(rng), 20),
        BenchThing("string", _place(rng), 60, rigid=False),
    ]


def _crate(rng: random.Random) -> list[BenchThing]:
    return [
        BenchThing(
            "crate", float(rng.randrange(110, 130)), 40, height=40, mass=float(rng.randrange(45, 60)), strength=200
        ),
        BenchThing("beam", _place(rng), 80, mass=4, strength=100),
        BenchThing("block", _place(rng), 10, height=10, mass=3, strength=100),
        BenchThing("carton", _place(rng), 80, strength=4),
        BenchThing("sponge", _place(rng), 10, height=10, strength=1, rigid=False),
    ]


DRAWS = {"milk": _milk, "gap": _gap, "can": _can, "sofa": _sofa, "button": _button, "crate": _crate}
