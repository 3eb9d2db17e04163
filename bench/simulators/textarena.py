"""Bare games of textarena: actions a second of the expert's plans, without handaxe's tool, texts and rollouts."""

import time

from handaxe.worlds.textarena.game import ArenaGame, find_plan
from handaxe.worlds.textarena.world import WITH_EXPERT

COPIES = 4
"""Instances of each game; started before the clock."""


def steps(seconds: float) -> tuple[int, float]:
    """Play the planned actions in the package's own environments for about `seconds`.

    Returns:
        actions taken, and the seconds inside the package's `step`.
    """
    games = [ArenaGame(name, number, brief=True) for name in WITH_EXPERT for number in range(COPIES)]
    plans = [find_plan(game.game, game.state(), game.secret()) or () for game in games]
    starts = [game.snapshot() for game in games]
    made, spent = 0, 0.0
    while spent < seconds:
        for game, plan, start in zip(games, plans, starts):
            game.restore(start)
            arena = game._env
            begun = time.perf_counter()
            for action in plan:
                arena.step(f"[{action}]")
            spent += time.perf_counter() - begun
            made += len(plan)
    return made, spent
