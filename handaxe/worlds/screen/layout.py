"""Screens in text form: named, disjoint boxes."""

from __future__ import annotations

import random
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.records import Task, Trajectory
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.parts.extract import NUMBER
from handaxe.worlds.world import Split

__all__ = ["Box", "LARGEST", "SIDES", "SMALLEST", "Screen", "difficulty", "draw_screen", "gold_box", "predicted_box"]

SIDES = (100.0, 100.0)
"""Width and height of a screen. Coordinates of corners are 10 to 99, so that each has two digits."""
WIDTHS, HEIGHTS = (8, 40), (8, 24)
SMALLEST, LARGEST = WIDTHS[0] * HEIGHTS[0], WIDTHS[1] * HEIGHTS[1]
"""Areas of the smallest and the largest possible box."""
MOST_BOXES = 6
"""More boxes do not always fit."""
LONGEST = 80
"""Character limit of an answer that is parsed as a box."""
Box = tuple[int, int, int, int]
"""Left, low, right and high side."""


class Screen(NamedTuple):
    """Name -> box, in order of the text."""

    boxes: dict[str, Box]

    def to_text(self) -> str:
        """Format each box as a line: its name, left, low, right and high side.

        Example:
            {"tok": (12, 30, 40, 46)} -> "tok 12 30 40 46"
        """
        return "\n".join(" ".join([name, *map(str, box)]) for name, box in self.boxes.items())


def draw_screen(rng: random.Random, split: Split, *, boxes: int) -> Screen:
    """Draw a screen. Names of training screens never occur on test screens, for any seed.

    Args:
        rng: source of random numbers.
        split: train or test; one name in four belongs to test.
        boxes: number of boxes, 1 to 6.

    Raises:
        InputError: `boxes` out of range.
    """
    if not 1 <= boxes <= MOST_BOXES:
        raise InputError(f"a screen has 1 to {MOST_BOXES} boxes, not {boxes}")
    names: list[str] = []
    while len(names) < boxes:
        name = rng.choice("bdfghjklmnprstvz") + rng.choice("aeiou") + rng.choice("bdfgklmnprstvz")
        if name not in names and _split(name) == split:
            names.append(name)
    placed: list[Box] = []
    while len(placed) < boxes:
        # Random places can leave no room for the last box: all are drawn again.
        placed = []
        for _ in range(20 * boxes):
            one = _box(rng)
            if len(placed) < boxes and not any(_touch(one, other) for other in placed):
                placed.append(one)
    return Screen(dict(zip(names, placed)))


def difficulty(task: Task) -> float:
    """Compute a task's weight from the size of its target; smaller targets weigh more.

        w = 0.5 + (1 / s - 1 / s_max) / (1 / s_min - 1 / s_max)          s: area of the target, as a share of the screen

    s_min and s_max are the areas of this world's smallest and largest possible box; in the paper, of the data set.

    Example:
        a target of 8 by 8 weighs 1.5, one of 40 by 24 0.5, and one of 16 by 8 0.9643

    Paper: arXiv:2505.15810 (GUI-G1), appendix C.3.
    Unconfirmed: that the size of a target is its area.
    """
    left, low, right, high = gold_box(task)
    small, large = 1 / SMALLEST, 1 / LARGEST
    return 0.5 + (1 / ((right - left) * (high - low)) - large) / (small - large)


def gold_box(task: Task) -> Box:
    """Return the target box of a task."""
    left, low, right, high = task.metadata["box"]
    return left, low, right, high


def predicted_box(trajectory: Trajectory) -> tuple[float, ...] | None:
    """Parse an answer as four numbers. Return None for any other answer.

    Example:
        "12 30 40 46" -> (12.0, 30.0, 40.0, 46.0);  "12 30 40" -> None
    """
    text = trajectory.final_text.strip()
    found = NUMBER.findall(text) if len(text) <= LONGEST else []
    return tuple(float(one.replace(",", "")) for one in found) if len(found) == 4 else None


def _split(name: str) -> Split:
    return "test" if derive_seed("screen split", name) % 4 == 0 else "train"


def _box(rng: random.Random) -> Box:
    width, height = rng.randint(*WIDTHS), rng.randint(*HEIGHTS)
    # Left and low sides end in 0 to 7: a point 2 further inside has the same first digit.
    left = rng.choice([one for one in range(10, 100 - width) if one % 10 < 8])
    low = rng.choice([one for one in range(10, 100 - height) if one % 10 < 8])
    return left, low, left + width, low + height


def _touch(one: Box, other: Box) -> bool:
    return one[0] <= other[2] and other[0] <= one[2] and one[1] <= other[3] and other[1] <= one[3]
