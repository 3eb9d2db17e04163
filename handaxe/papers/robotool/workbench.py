"""Workbench on a line: things with lengths, masses and materials, and the skills of a robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from handaxe.core.errors import InputError

__all__ = [
    "BenchThing",
    "EDGE",
    "ErrorKind",
    "FORCE",
    "LIFT",
    "REACH",
    "SLACK",
    "STEP",
    "SkillError",
    "WEIGHT",
    "Workbench",
]

ErrorKind = Literal["tool", "logical", "numerical"]
REACH, EDGE = 60.0, 10.0
"""Farthest and nearest place of the hand, cm; a thing that is pulled below the nearest one falls off."""
LIFT = 5.0
"""Kilograms that the hand lifts."""
WEIGHT, FORCE = 30.0, 20.0
"""Kilograms that the robot weighs, and that it presses down with."""
STEP = 25.0
"""Highest step of the robot, cm."""
SLACK = 2.0
"""Tolerance of places, cm."""


@dataclass(frozen=True)
class BenchThing:
    """A thing on the bench.

    at        place of its near end, cm from the robot
    length, height  cm
    mass      kg
    strength  load that it carries, kg
    rigid, hook, magnetic    properties; a hook pulls, magnetic things attach to each other
    """

    name: str
    at: float
    length: float = 10.0
    height: float = 5.0
    mass: float = 1.0
    strength: float = 5.0
    rigid: bool = True
    hook: bool = False
    magnetic: bool = False

    @property
    def end(self) -> float:
        """Place of the far end, cm."""
        return self.at + self.length


class SkillError(Exception):
    """Failure of a skill; `kind` is tool, logical or numerical."""

    def __init__(self, kind: ErrorKind, text: str):
        super().__init__(text)
        self.kind: ErrorKind = kind


class Workbench:
    """State of a bench and the robot's skills. A skill that fails raises SkillError and changes nothing.

        tool       the thing at hand lacks a property: too short, limp, without a hook, weak, not magnetic, heavy
        logical    the step does not fit the state: hand full or empty, out of reach, blocked, nothing placed
        numerical  the number is wrong: falls off, stays out of reach, or misses by more than 2 cm

    Args:
        things: with different names.

    Raises:
        InputError: two things with one name.

    Example:
        milk at 90 and a hook of 40 cm at 30: grasp("hook"), pull("milk", 50), release(), grasp("milk") -> held milk

    Paper: arXiv:2310.13065 (RoboTool), skills with parameters, and errors of tool use, logic and numbers.
    Differs: statics on a line replace robots and their simulators.
    """

    def __init__(self, things: Sequence[BenchThing]):
        self.things = {one.name: one for one in things}
        if len(self.things) != len(things):
            raise InputError("two things have one name")
        self.held = ""
        self.placed: list[str] = []
        self.done: set[str] = set()

    def grasp(self, name: str) -> None:
        """Take a thing within reach; the hand lifts 5 kg."""
        thing = self._known(name)
        if self.held:
            raise SkillError("logical", f"the hand holds {self.held}")
        if thing.at > REACH:
            raise SkillError("logical", f"{name} is out of reach")
        if thing.mass > LIFT:
            raise SkillError("tool", f"{name} is too heavy")
        self.held = name

    def release(self) -> None:
        """Put the held thing back."""
        self._tool()
        self.held = ""

    def pull(self, name: str, distance: float) -> None:
        """Pull a thing towards the robot with the held hook; it must end within reach."""
        tool, thing = self._tool(), self._known(name)
        if not tool.rigid or not tool.hook:
            raise SkillError("tool", f"{tool.name} pulls nothing")
        if thing.at > REACH + tool.length:
            raise SkillError("tool", f"{tool.name} is too short")
        if not EDGE <= thing.at - distance <= REACH:
            raise SkillError("numerical", f"{name} falls off or stays out of reach")
        self.things[name] = replace(thing, at=thing.at - distance)

    def attach(self, name: str) -> None:
        """Attach a magnetic thing within reach to the far end of the held one."""
        tool, part = self._tool(), self._known(name)
        if part.at > REACH or name == tool.name:
            raise SkillError("logical", f"{name} cannot be attached")
        if not tool.magnetic or not part.magnetic:
            raise SkillError("tool", f"{name} does not stick to {tool.name}")
        del self.things[name]
        self.things[tool.name] = replace(tool, length=tool.length + part.length)

    def place(self, at: float) -> None:
        """Put the held thing down with its near end at a place; a placed thing before it blocks the way."""
        tool = self._tool()
        if any(self.things[name].at < at - SLACK for name in self.placed):
            raise SkillError("logical", f"{self.placed[-1]} blocks the way")
        self.things[tool.name] = replace(tool, at=at)
        self.placed.append(tool.name)
        self.held = ""

    def press(self, distance: float) -> None:
        """Press the button at a distance, with the held thing or the hand."""
        button = self._known("button")
        tool = self.things.get(self.held)
        if tool is None:
            if button.at > REACH:
                raise SkillError("logical", "the button is out of reach")
        elif not tool.rigid or REACH + tool.length < button.at:
            raise SkillError("tool", f"{tool.name} does not reach the button")
        self._near(distance, button.at)
        self.done.add("press")

    def cross(self) -> None:
        """Walk over the gap on the placed thing, which rests on 5 cm at either side."""
        gap, (board,) = self._known("gap"), self._of_placed(1)
        if board.strength < WEIGHT or board.length < gap.length + 10:
            raise SkillError("tool", f"{board.name} does not carry the robot over the gap")
        if board.at > gap.at - 5 or board.end < gap.end + 5:
            raise SkillError("numerical", f"{board.name} does not rest on both sides")
        self.done.add("cross")

    def climb(self) -> None:
        """Climb the sofa over the placed things, each next to the following one."""
        sofa = self._known("sofa")
        steps = sorted(self._of_placed(), key=lambda one: one.at)
        for one, following in pairwise((*steps, sofa)):
            self._near(one.end, following.at)
        if any(not one.rigid or one.strength < WEIGHT for one in steps):
            raise SkillError("tool", "a step is soft")
        heights = [0.0, *(one.height for one in steps), sofa.height]
        if any(up - down > STEP for down, up in pairwise(heights)):
            raise SkillError("tool", "a step is too high")
        self.done.add("climb")

    def push(self) -> None:
        """Press down the near end of the last placed thing, a lever on the first placed one, under the crate."""
        crate, (support, lever) = self._known("crate"), self._of_placed(2)
        if support.length > lever.length:
            raise SkillError("logical", "the lever lies below its support")
        if not lever.rigid or min(lever.strength, support.strength) < crate.mass:
            raise SkillError("tool", f"{lever.name} on {support.name} does not carry the crate")
        self._near(lever.end, crate.at)
        if not lever.at <= support.at <= lever.end:
            raise SkillError("numerical", f"{support.name} is not below {lever.name}")
        if FORCE * (support.at - lever.at) < crate.mass * (lever.end - support.at):
            raise SkillError("numerical", "the arm of the lever is too short")
        self.done.add("push")

    def _known(self, name: str) -> BenchThing:
        if name not in self.things:
            raise SkillError("logical", f"there is no {name[:40]}")
        return self.things[name]

    def _tool(self) -> BenchThing:
        if not self.held:
            raise SkillError("logical", "the hand is empty")
        return self.things[self.held]

    def _of_placed(self, count: int | None = None) -> list[BenchThing]:
        if not self.placed or count not in (None, len(self.placed)):
            raise SkillError("logical", f"{len(self.placed)} things are placed")
        return [self.things[name] for name in self.placed]

    def _near(self, place: float, wanted: float) -> None:
        if not abs(place - wanted) <= SLACK:
            raise SkillError("numerical", f"{place:g} is not {wanted:g}")
