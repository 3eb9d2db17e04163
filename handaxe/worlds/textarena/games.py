"""Games of the package textarena: names, construction, and a random generator per game."""

from __future__ import annotations

import importlib
import random
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from handaxe.core.errors import InputError

__all__ = ["EXCLUDED", "check_games", "game_class", "game_family", "use_generator"]

EXCLUDED: Mapping[str, str] = {
    "Cryptarithm": "has a single puzzle, so nothing can be held out",
    "FifteenPuzzle": "raises an error in the solved state (textarena 0.7.4), and half of the boards have no solution",
    "GuessWho": "needs a chat service for its replies",
    "Hangman": "downloads word lists of nltk",
    "Klondike": "has syntax of Python 3.12",
    "Set": "counts points and has no win",
    "TwentyQuestions": "needs a chat service for its replies",
    "WordLadder": "downloads word lists of nltk",
    "WordSearch": "downloads word lists of nltk",
    "Wordle": "downloads word lists of nltk",
}
"""Games for one player that the world leaves out, with the reason."""


class _Current(threading.local):
    rng: random.Random | None = None


CURRENT = _Current()


class _OwnRandom:
    """Replacement of the module `random` inside textarena: draws come from the generator of the running game.

    The games of textarena draw from the generator of the process and seed the generator again at every start, so that
    rollouts in threads would disturb each other.
    """

    def __getattr__(self, name: str) -> Any:
        rng = CURRENT.rng
        return getattr(rng if rng is not None and hasattr(rng, name) else random, name)


OWN_RANDOM = _OwnRandom()


@contextmanager
def use_generator(rng: random.Random) -> Iterator[None]:
    """Let textarena draw from `rng` in this thread."""
    before, CURRENT.rng = CURRENT.rng, rng
    try:
        yield
    finally:
        CURRENT.rng = before


def game_family(name: str) -> str:
    """Return the family of a registered name: "FrozenLake-v0-random" -> "FrozenLake"."""
    return name.partition("-v")[0]


def check_games(games: Sequence[str], families: Sequence[str]) -> None:
    """Check the names of games against the registry of textarena and the families of the world.

    Raises:
        InputError: no game, a repeated name, an unknown or excluded game, or textarena is not installed.
    """
    registry = _textarena().envs.registration.ENV_REGISTRY
    if not games or len(set(games)) < len(games):
        raise InputError(f"games are one or more names of textarena, each once, not {list(games)}")
    for name in games:
        family = game_family(name)
        if family in EXCLUDED:
            raise InputError(f"game {name!r} is left out: {family} {EXCLUDED[family]}")
        known = [one for one in registry if game_family(one) == family and not one.endswith(("-raw", "-train"))]
        if family not in families:
            raise InputError(
                f"{name!r} is no game for one player; there are {', '.join(f'{one}-v0' for one in families)}"
            )
        if name not in known:
            raise InputError(f"{name!r} is no name of textarena; {family} has {', '.join(known)}")


def game_class(name: str) -> tuple[Any, Mapping[str, Any]]:
    """Return the class of a game and the arguments of its registration.

    The class draws from the generator of `use_generator` and prints nothing.
    """
    package = _textarena()
    spec = package.envs.registration.ENV_REGISTRY[name]
    place, _, attribute = spec.entry_point.partition(":")
    module = importlib.import_module(place)
    for one in (package.core, package.state, module):
        if "random" in vars(one):
            vars(one)["random"] = OWN_RANDOM
    vars(module)["print"] = _no_print
    return getattr(module, attribute), spec.kwargs


def _no_print(*values: object) -> None:
    """Discard the progress reports of RushHour and warnings of the generators."""


def _textarena() -> Any:
    try:
        import textarena
        import textarena.core
        import textarena.envs.registration
        import textarena.state
    except ImportError as error:
        raise InputError(
            f'the world textarena needs the package textarena ({error}): pip install "handaxe[textarena]"'
        ) from error
    return textarena
