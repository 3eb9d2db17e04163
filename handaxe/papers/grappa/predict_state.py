"""State after an action, by kinematics on tracked objects."""

from __future__ import annotations

import copy
from typing import Any

from handaxe.core.errors import InputError
from handaxe.papers.grappa.object_tracker import front_cell
from handaxe.worlds.minigrid_text.grid import WORDS

__all__ = ["predict_state"]

SOLID = ("key", "ball", "box")


def predict_state(state: dict[str, Any], word: str) -> dict[str, Any]:
    """Predict the state after an action.

    Turns change the direction. `forward` enters the cell in front if the view has a free cell ahead. `pickup` takes an
    object in front with an empty hand, `drop` puts it into a free cell, and `toggle` opens or closes a door, a locked
    one only with a key. Nothing else changes; an action without effect gives an equal state.

    Args:
        state: of `ObjectTracker.state`; stays as it is.
        word: an action of minigrid.

    Returns:
        The next state. `free` is unknown after a move and set to 1.

    Raises:
        InputError: no such action.

    Example:
        agent (1, 1), facing right, key at (2, 1): pickup -> holds key, and the key has no place

    Paper: arXiv:2410.06473 (GRAPPA), scores of the states behind candidate actions.
    Differs: kinematics of a grid.
    """
    if word not in WORDS:
        raise InputError(f"{word!r} is no action: {', '.join(WORDS)}")
    after = copy.deepcopy(state)
    facing, here = int(state["facing"]), (state["agent"][0], state["agent"][1])
    front = front_cell(here, facing)
    thing = next((name for name, one in state["objects"].items() if tuple(one["at"]) == front), "")
    if word in ("left", "right"):
        after["facing"] = (facing + (1 if word == "right" else -1)) % 4
        after["free"] = 1
    elif word == "forward" and state["free"] > 0:
        after["agent"], after["free"] = list(front), 1
    elif word == "pickup" and thing in SOLID and not state["holds"]:
        after["holds"] = thing
        del after["objects"][thing]
    elif word == "drop" and state["holds"] and not thing and state["free"] > 0:
        after["objects"][state["holds"]] = {"at": list(front), "state": ""}
        after["holds"] = ""
    elif word == "toggle" and thing == "door":
        after["objects"]["door"]["state"] = _toggled(state["objects"]["door"]["state"], state["holds"])
    return after


def _toggled(door: str, holds: str) -> str:
    if door == "locked":
        return "open" if holds == "key" else "locked"
    return "closed" if door == "open" else "open"
