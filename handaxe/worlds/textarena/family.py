"""Family of games: its visible state, short text, drawn starts and solver."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

__all__ = ["Family", "Plan", "State"]

State = Mapping[str, Any]
"""Visible state of a game, as JSON. A guessing game has the guesses and hints, without the secret."""
Plan = tuple[str, ...] | None
"""Actions of the expert to the win; () at the win, None if the game cannot be won any more."""


def _no_arguments(rng: random.Random) -> Mapping[str, Any]:
    del rng
    return {}


class Family(NamedTuple):
    """Games of one rule. Fields from `read` to `plan` are None for games without an expert.

    read       env -> visible state
    brief      state -> its text in key words, for the opening
    reply      state -> its text after an action; None: `brief`
    plan       (state, secret) -> actions of the expert to the win. Without the secret (None) a guessing game plans the
               next guess alone; other games ignore it.
    secret     env -> hidden part of the start, as JSON
    arguments  rng -> further arguments of the game's class, for games with one start in the package
    prepare    (env): changes the game's class before its start
    change     (env, rng): changes a new game to a drawn start
    chance     actions have random results, so the generator belongs to the start
    """

    read: Callable[[Any], State] | None = None
    brief: Callable[[State], str] | None = None
    reply: Callable[[State], str] | None = None
    plan: Callable[[State, Any], Plan] | None = None
    secret: Callable[[Any], Any] | None = None
    arguments: Callable[[random.Random], Mapping[str, Any]] = _no_arguments
    prepare: Callable[[Any], None] | None = None
    change: Callable[[Any, random.Random], None] | None = None
    chance: bool = False
