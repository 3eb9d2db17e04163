"""Scripted agent on a phone that overlooks rows, mistypes values and stops scrolling."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task, ToolCall
from handaxe.papers.android_world.phone_tasks import DONE
from handaxe.worlds.world import Expert, Facts

__all__ = ["phone_agent"]


def phone_agent(*, overlook: float = 0.15, mistype: float = 0.1, screens: int = 2, seed: int = 0) -> Expert:
    """Make an agent for one rollout.

    The agent works on the parts of a task in order, and gives a part up after the last screen that it looks at. The
    answer is always "done".

    Args:
        overlook: probability that a row on a screen is not seen, 0 to 1.
        mistype: probability that a value has another last digit, 0 to 1.
        screens: most screens of an app that the agent looks at, 1 or more.
        seed: of both errors.

    Returns:
        An expert with state, for a single rollout.

    Raises:
        InputError: an argument out of range.

    Example:
        screens 2 never finds the seventh row of an app, whatever the seed; overlook 0.15 misses the first row for some
        seeds

    Idea: an agent with random and systematic errors shows both kinds of spread.
    """
    if not 0 <= overlook <= 1 or not 0 <= mistype <= 1 or screens < 1:
        raise InputError(
            f"a phone agent has probabilities in [0, 1] and 1 screen or more, not {overlook}, {mistype} and {screens}"
        )
    return _PhoneAgent(overlook, mistype, screens, random.Random(seed)).speak


class _PhoneAgent:
    def __init__(self, overlook: float, mistype: float, screens: int, rng: random.Random):
        self._overlook = overlook
        self._mistype = mistype
        self._screens = screens
        self._rng = rng
        self._part = 0
        self._looked = 0

    def speak(self, task: Task, facts: Facts) -> Message:
        """Act on the current part."""
        parts = task.metadata["params"]["parts"]
        while self._part < len(parts):
            part = parts[self._part]
            call = self._call(part, facts)
            if call is not None:
                return Message("assistant", "", (call,))
            self._part += 1
            self._looked = 0
        return Message("assistant", DONE)

    def _call(self, part: Mapping[str, Any], facts: Facts) -> ToolCall | None:
        """Next call for a part; None to give the part up."""
        if self._looked == 0:
            self._looked = 1
            return ToolCall("open", {"app": part["app"]})
        if self._looked > self._screens:
            return None
        seen = [key for key in facts["visible"] if self._rng.random() >= self._overlook]
        if part["action"] == "add" or part["key"] in seen:
            self._looked = self._screens + 1
            if part["action"] == "delete":
                return ToolCall("delete", {"key": part["key"]})
            return ToolCall(part["action"], {"row": f"{part['key']} {self._typed(part['value'])}"})
        self._looked += 1
        if self._looked > self._screens or not facts["more"]:
            return None
        return ToolCall("scroll", {"way": "down"})

    def _typed(self, value: str) -> str:
        if self._rng.random() >= self._mistype:
            return value
        return value[:-1] + self._rng.choice([digit for digit in "0123456789" if digit != value[-1]])
