"""Bare minigrid: shortest paths through grids of three rooms, without a view in words."""

from __future__ import annotations

import time

__all__ = ["steps"]


def steps(seconds: float) -> tuple[int, float]:
    """Play shortest paths for about `seconds`; returns (steps, seconds)."""
    from minigrid.envs import MultiRoomEnv

    from handaxe.worlds.minigrid_text.grid import WORDS
    from handaxe.worlds.minigrid_text.shortest_path import read_layout, shortest

    env = MultiRoomEnv(3, 3, 5, max_steps=1 << 30)
    ways = []
    for seed in range(8):
        env.reset(seed=seed)
        ways.append(shortest(*read_layout(env)) or ())
    count, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        for seed, way in enumerate(ways):
            env.reset(seed=seed)
            for word in way:
                env.step(WORDS.index(word))
            count += len(way)
    return count, time.perf_counter() - begun
