"""Grounding agent: places of named objects from views in words."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.worlds.minigrid_text.shortest_path import AHEAD, Place

__all__ = ["ObjectTracker", "TrackedObject", "front_cell"]

ROOM = re.compile(r"You can go (\d+) ahead")
OBJECT = re.compile(r"You see this ([a-z ]+): ([^.]*)\.")
HELD = re.compile(r"You hold a [a-z]+ ([a-z]+)\.")
AHEAD_OF, ASIDE = re.compile(r"(\d+) ahead"), re.compile(r"(\d+) to the (left|right)")
DOOR_STATES = ("open", "closed", "locked")


class TrackedObject(NamedTuple):
    """Last known place of an object, and the state of a door: open, closed or locked; "" for another object."""

    at: Place
    state: str = ""


def front_cell(at: Place, facing: int) -> Place:
    """Return the cell in front of an agent; `facing` is 0 to 3: right, down, left, up."""
    return at[0] + AHEAD[facing][0], at[1] + AHEAD[facing][1]


class ObjectTracker:
    """Tracks objects over views; an object out of view keeps its last place.

        place = agent + ahead * AHEAD[facing] + right * AHEAD[facing + 1]

    The names are those of minigrid: key, door, goal, ball, box. Of two objects with one name the nearer one is tracked.

    Raises:
        InputError: while observing, a text that is no view in words.

    Example:
        "You can go 1 ahead, 0 to the left and 0 to the right. You see this yellow key: 2 ahead, 1 to the right." from
        (3, 3), facing right  ->  key at (5, 4)

    Paper: arXiv:2410.06473 (GRAPPA), the grounding agent that detects and tracks objects.
    Differs: a rule reads the view in words; in the paper vision models detect and segment objects in images.
    """

    def __init__(self) -> None:
        self.objects: dict[str, TrackedObject] = {}
        self.free = 0
        self.holds = ""

    def observe(self, view: str, at: Place, facing: int) -> None:
        """Update places from a view.

        Args:
            view: text of a grid in words.
            at, facing: of the agent.
        """
        room = ROOM.search(view)
        if room is None:
            raise InputError(f"{view[:80]!r} is no view in words")
        self.free = int(room[1])
        found: dict[str, TrackedObject] = {}
        for words, place in OBJECT.findall(view):
            *before, name = words.split()
            state = next((one for one in DOOR_STATES if one in before), "")
            found.setdefault(name, TrackedObject(_place(place, at, facing), state))
        self.objects |= found
        held = HELD.search(view)
        self.holds = held[1] if held else ""
        if self.holds not in found:
            self.objects.pop(self.holds, None)

    def state(self, at: Place, facing: int) -> dict[str, Any]:
        """State for guidance functions: agent, facing, free (cells ahead), holds and objects, as JSON."""
        objects = {name: {"at": list(one.at), "state": one.state} for name, one in self.objects.items()}
        return {"agent": list(at), "facing": facing, "free": self.free, "holds": self.holds, "objects": objects}


def _place(text: str, at: Place, facing: int) -> Place:
    front, side = AHEAD_OF.search(text), ASIDE.search(text)
    ahead = int(front[1]) if front else 0
    right = int(side[1]) * (1 if side[2] == "right" else -1) if side else 0
    forward, aside = AHEAD[facing], AHEAD[(facing + 1) % 4]
    return at[0] + ahead * forward[0] + right * aside[0], at[1] + ahead * forward[1] + right * aside[1]
