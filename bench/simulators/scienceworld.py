"""Bare simulator of ScienceWorld: gold actions of two kinds, through the package's own wrapper."""

from __future__ import annotations

import functools
import itertools
import os
import time
from typing import Any

SCENES = [(kind, variation) for variation in range(4) for kind in ("find-animal", "lifespan-longest-lived")]


def steps(seconds: float) -> tuple[int, float]:
    """Take gold actions for about `seconds`, loading of scenes included; returns steps and seconds."""
    env, paths = _started()
    made, begun = 0, time.perf_counter()
    for (kind, variation), path in itertools.cycle(paths.items()):
        env.load(kind, variation, "easy")
        for action in path:
            env.step(action)
            made += 1
        if time.perf_counter() - begun >= seconds:
            break
    return made, time.perf_counter() - begun


@functools.cache
def _started() -> tuple[Any, dict[tuple[str, int], list[str]]]:
    # The wrapper starts Java with a heap of a quarter of the memory.
    os.environ["JAVA_TOOL_OPTIONS"] = "-Xmx384m -XX:+UseSerialGC"
    from scienceworld import ScienceWorldEnv

    env = ScienceWorldEnv("", envStepLimit=1_000)
    del os.environ["JAVA_TOOL_OPTIONS"]
    paths = {}
    for kind, variation in SCENES:
        env.load(kind, variation, "easy", True)
        paths[kind, variation] = env.get_gold_action_sequence()
    return env, paths
