"""Programs of setters: the only text that a policy may write for the reward, and primitive skills for comparison."""

from __future__ import annotations

import re
from collections.abc import Mapping

from handaxe.core.errors import Retry
from handaxe.papers.language_to_rewards.residual_reward import Targets

__all__ = ["PRIMITIVES", "read_primitives", "read_setters", "write_setters"]

SETTERS: Mapping[str, int] = {"height": 1, "speed": 1, "turn": 1, "heading": 1, "place": 2}
"""Setter -> number of its values."""
LARGEST = 10.0
LONGEST = 3
"""Most primitives of a program."""
VALUE = re.compile(r"-?(\d{1,3}(\.\d{0,3})?|\.\d{1,3})")
DIRECTIONS: Mapping[str, tuple[int, int]] = {
    "east": (1, 0),
    "north": (0, 1),
    "west": (-1, 0),
    "south": (0, -1),
}
ANGLES: Mapping[str, float] = {"east": 0.0, "north": 1.57, "west": 3.14, "south": -1.57}
PRIMITIVES: Mapping[str, Targets] = {
    "crouch": Targets(height=0.5),
    "stretch": Targets(height=1.5),
    "stand": Targets(),
    "walk": Targets(speed=0.5),
    "run": Targets(speed=1.2),
    "back": Targets(speed=-0.5),
    "spin left": Targets(turn=1.0),
    "spin right": Targets(turn=-1.0),
    **{f"look {name}": Targets(heading=angle) for name, angle in ANGLES.items()},
    **{f"go {name}": Targets(place=(1.5 * x, 1.5 * y)) for name, (x, y) in DIRECTIONS.items()},
}
"""Skill -> the targets that the skill is executed with."""


def read_setters(code: str) -> Targets:
    """Read a program of setters; the text is never executed.

    Args:
        code: setters with numbers, separated by ";"; a setter that is left out keeps its default.

    Returns:
        The parameters of the reward.

    Raises:
        Retry: an unknown setter, a setter twice, a wrong number of values, or a value beyond 10 in size.

    Example:
        "height .5;speed 1.2" -> Targets(height=0.5, speed=1.2)

    Paper: arXiv:2306.08647 (Language to Rewards), the reward coder, which calls setters of a reward API alone.
    Differs: five setters of a torso; feet, objects and a manipulator have none.
    """
    found = dict[str, float | tuple[float, float]]()
    for part in code.split(";"):
        name, *values = part.split()[:4] or [""]
        if name not in SETTERS:
            raise Retry(f"no setter {name[:20]!r}: height, speed, turn, heading, place")
        if name in found or len(values) != SETTERS[name] or not all(map(_is_value, values)):
            raise Retry(f"{name} takes {SETTERS[name]} numbers of at most {LARGEST:g}, once")
        numbers = [float(value) for value in values]
        found[name] = numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])
    return Targets(**found)  # type: ignore[arg-type]


def write_setters(targets: Targets) -> str:
    """Write targets as a program; inverse of `read_setters` up to the digits of %g.

    Example:
        Targets(height=0.5, place=(0, 1.5)) -> "height .5;place 0 1.5"; Targets() -> "speed 0"
    """
    default = Targets()
    parts = []
    for name in SETTERS:
        value = getattr(targets, name)
        if value != getattr(default, name):
            numbers = value if isinstance(value, tuple) else (value,)
            parts.append(" ".join([name, *map(_short, numbers)]))
    return ";".join(parts or ["speed 0"])


def read_primitives(code: str) -> list[Targets]:
    """Read a program of primitive skills, executed one after the other.

    Args:
        code: up to three skills, separated by ";".

    Raises:
        Retry: an unknown skill, or more than three.

    Example:
        "go north;look east" -> [Targets(place=(0, 1.5)), Targets(heading=0)]

    Paper: arXiv:2306.08647 (Language to Rewards), the baseline: programs of primitive skills.
    Unconfirmed: the baseline's skills.
    """
    names = [part.strip() for part in code.split(";")]
    if len(names) > LONGEST or not set(names) <= PRIMITIVES.keys():
        raise Retry(f"give up to {LONGEST} of: {', '.join(PRIMITIVES)}")
    return [PRIMITIVES[name] for name in names]


def _is_value(text: str) -> bool:
    return VALUE.fullmatch(text) is not None and abs(float(text)) <= LARGEST


def _short(value: float) -> str:
    text = f"{value:g}"
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text
