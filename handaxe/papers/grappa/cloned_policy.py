"""Base policy: behaviour cloning of an expert in one grid, by counts."""

from __future__ import annotations

import contextlib
import random
from collections import Counter, defaultdict

import numpy as np

from handaxe.core.errors import Failed, InputError
from handaxe.worlds.minigrid_text.grid import WORDS, GridGame
from handaxe.worlds.minigrid_text.shortest_path import GridState, shortest

__all__ = ["ClonedPolicy", "clone_expert", "random_moves"]

MOVES = ("left", "right", "forward")


def random_moves(game: GridGame, count: int, rng: random.Random) -> None:
    """Make random moves, so that episodes of one grid have different starts. Moves into walls have no effect."""
    for _ in range(count):
        if game.is_over:
            return
        with contextlib.suppress(Failed):
            game.act(rng.choice(MOVES))


class ClonedPolicy:
    """Action distribution by counts of the expert's actions.

        pi(a | s) = (n(s, a) + smoothing) / (n(s) + smoothing A)

    s has the place and direction of the agent, its hands and the door: what a robot's body knows, without places of the
    objects. So the policy is right in the grid of its demonstrations only; in a state without demonstrations it is
    uniform.

    Args:
        counts: state -> action -> number.
        smoothing: above 0.

    Raises:
        InputError: a smoothing of 0 or less.

    Example:
        counts left 3, smoothing 0.5: left (3 + 0.5) / (3 + 3) = 0.5833, each of five others 0.0833

    Paper: arXiv:2410.06473 (GRAPPA), a pre-trained base policy that fails out of its distribution.
    Differs: counts replace a network on images.
    """

    def __init__(self, counts: dict[tuple[object, ...], Counter[str]], *, smoothing: float = 0.1):
        if not smoothing > 0:
            raise InputError(f"a smoothing is above 0, not {smoothing}")
        self._counts, self._smoothing = counts, smoothing

    def action_probs(self, state: GridState) -> np.ndarray:
        """Probabilities of minigrid's actions, [A]."""
        own = self._counts.get(_seen(state), Counter())
        weight_A = np.array([own[word] + self._smoothing for word in WORDS], np.float64)
        return np.asarray(weight_A / weight_A.sum())


def clone_expert(
    grid: int, *, size: int = 6, demonstrations: int = 40, astray: float = 0.25, smoothing: float = 0.1, seed: int = 0
) -> ClonedPolicy:
    """Count the actions of the shortest path in one grid.

    Args:
        grid: seed of the grid of minigrid's DoorKey.
        size: side of the grid.
        demonstrations: episodes, each from another start.
        astray: share of random moves in between, whose following actions correct them.
        smoothing: see `ClonedPolicy`.
        seed: of the starts and random moves.

    Raises:
        InputError: a number out of range, or minigrid is not installed.
    """
    if demonstrations < 1 or not 0 <= astray < 1:
        raise InputError(f"give 1 demonstration or more, and a share from 0 to below 1, not {demonstrations}, {astray}")
    counts: dict[tuple[object, ...], Counter[str]] = defaultdict(Counter)
    rng = random.Random(f"clone {grid} {seed}")
    for _ in range(demonstrations):
        game = GridGame("doorkey", size, grid, brief=False)
        random_moves(game, rng.randrange(8), rng)
        while not game.is_over:
            way = shortest(game.ways, game.state)
            assert way, "minigrid makes grids that can be solved"
            counts[_seen(game.state)][way[0]] += 1
            game.act(way[0])
            if rng.random() < astray:
                random_moves(game, 1, rng)
    return ClonedPolicy(dict(counts), smoothing=smoothing)


def _seen(state: GridState) -> tuple[object, ...]:
    return state.at, state.facing, state.holds >= 0, state.doors
