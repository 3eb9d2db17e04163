"""Instructions to a body in everyday words, with the targets that each one means."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from handaxe.papers.language_to_rewards.residual_reward import Targets
from handaxe.papers.language_to_rewards.setters import ANGLES, DIRECTIONS

__all__ = ["MOTIONS", "Motion", "STANCES", "describe_targets", "goal_targets", "word_instruction"]

SPEEDS: Mapping[str, float] = {"slow": 0.5, "fast": 1.2, "backward": -0.5}
TURNS: Mapping[str, float] = {"left": 1.0, "right": -1.0}
STANCES: Mapping[str, float] = {"": 1.0, "low": 0.5, "high": 1.5}
REACH = 1.5
"""Distance of a place from the start."""
STANCE_WORDS: Mapping[str, Sequence[str]] = {
    "low": ("crouched", "ducked", "close to the ground"),
    "high": ("on tiptoe", "stretched up", "tall"),
}
SPEED_WORDS: Mapping[str, Sequence[str]] = {
    "slow": ("walk", "stroll", "amble"),
    "fast": ("run", "dash", "race"),
    "backward": ("back up", "retreat", "reverse"),
}
STILL_WORDS = ("stand still", "wait here", "do not move")
SPIN_WORDS = ("spin to the {}", "rotate {}", "turn round to the {}")
CIRCLE_WORDS = ("in a circle to the {}", "in rings to the {}", "round and round to the {}")
LOOK_WORDS = ("face {}", "look {}", "point {}")
GO_WORDS = ("go to the {} post", "visit the {} side", "reach the {} end")
TOWARDS_WORDS = ("towards the {}", "{}wards", "{} ahead")


class Motion(NamedTuple):
    """Meaning of an instruction without its stance; "" for a part that the instruction lacks.

    speed   slow, fast or backward
    turn    left or right
    heading, place  a direction
    """

    speed: str = ""
    turn: str = ""
    heading: str = ""
    place: str = ""

    @property
    def kind(self) -> str:
        """Kind of the motion: still, or the parts that the instruction names."""
        return "+".join(name for name in self._fields if getattr(self, name)) or "still"


MOTIONS: tuple[Motion, ...] = (
    Motion(),
    *(Motion(speed=speed) for speed in SPEEDS),
    *(Motion(turn=side) for side in TURNS),
    *(Motion(speed=speed, turn=side) for speed in ("slow", "fast") for side in TURNS),
    *(Motion(heading=way) for way in DIRECTIONS),
    *(Motion(speed=speed, heading=way) for speed in SPEEDS for way in DIRECTIONS),
    *(Motion(place=way) for way in DIRECTIONS),
    *(Motion(heading=look, place=way) for look in DIRECTIONS for way in DIRECTIONS),
)
"""Every motion: 46, of 8 kinds."""


def goal_targets(motion: Motion, stance: str) -> Targets:
    """Convert a meaning to targets.

    Example:
        Motion(speed="slow", turn="left"), "low" -> Targets(height=0.5, speed=0.5, turn=1)
    """
    x, y = DIRECTIONS.get(motion.place, (0, 0))
    return Targets(
        height=STANCES[stance],
        speed=SPEEDS.get(motion.speed, 0.0),
        turn=TURNS.get(motion.turn, 0.0),
        heading=ANGLES[motion.heading] if motion.heading else None,
        place=(REACH * x, REACH * y) if motion.place else None,
    )


def describe_targets(motion: Motion, stance: str) -> str:
    """Fill the template of the motion description: the parts that apply, in a fixed order.

    Example:
        Motion(heading="east", place="north"), "low" -> "height low, heading east, place north"

    Paper: arXiv:2306.08647 (Language to Rewards), the motion description by a template.
    Unconfirmed: the template's wording.
    """
    parts = {"height": stance, **motion._asdict()}
    return ", ".join(f"{name} {word}" for name, word in parts.items() if word) or "speed none"


def word_instruction(motion: Motion, stance: str, rng: random.Random) -> str:
    """Draw a wording of a meaning.

    Args:
        motion, stance: the meaning.
        rng: draws one of three wordings of each part, and the order of motion and stance.

    Example:
        Motion(speed="slow", turn="left"), "low" -> "crouched, stroll in a circle to the left"
    """
    words = [_word_motion(motion, rng), *([rng.choice(STANCE_WORDS[stance])] if stance else [])]
    return ", ".join(rng.sample(words, len(words)))


def _word_motion(motion: Motion, rng: random.Random) -> str:
    look = rng.choice(LOOK_WORDS).format(motion.heading)
    if motion.place:
        go = rng.choice(GO_WORDS).format(motion.place)
        return f"{go} and {look}" if motion.heading else go
    if motion.speed:
        move = rng.choice(SPEED_WORDS[motion.speed])
        if motion.turn:
            return f"{move} {rng.choice(CIRCLE_WORDS).format(motion.turn)}"
        return f"{move} {rng.choice(TOWARDS_WORDS).format(motion.heading)}" if motion.heading else move
    if motion.turn:
        return rng.choice(SPIN_WORDS).format(motion.turn)
    return look if motion.heading else rng.choice(STILL_WORDS)
