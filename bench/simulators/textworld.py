"""Bare textworld: winning commands of cached games, with the facts that the world asks for."""

from __future__ import annotations

import itertools
import time

__all__ = ["steps"]


def steps(seconds: float) -> tuple[int, float]:
    """Play winning commands for about `seconds`; returns (steps, seconds)."""
    import textworld

    from handaxe.worlds.textworld.games import Games

    shelf = Games(kind="medium", rooms=8, length=8, count=80)
    wanted = textworld.EnvInfos(policy_commands=True, admissible_commands=True, won=True, lost=True, facts=True)
    played = []
    for number in itertools.islice(shelf.cycle("train", 0, shortest=8), 4):
        opening = shelf.opening(number)
        assert opening is not None
        played.append((textworld.start(str(shelf.file(number)), wanted), opening.walkthrough))
    count, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        for env, way in played:
            env.reset()
            for command in way:
                env.step(command)
            count += len(way)
    took = time.perf_counter() - begun
    for env, _ in played:
        env.close()
    return count, took
