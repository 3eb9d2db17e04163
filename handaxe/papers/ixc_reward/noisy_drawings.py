"""Demonstrations of drawings, some of which draw something else than the request."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from handaxe.core.protocols import ChatFormat
from handaxe.core.records import Task, Trajectory
from handaxe.judges.drawing_pairs import drawing_words, with_error
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.canvas.drawing import draw_program
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.world import World

__all__ = ["noisy_drawings"]


def noisy_drawings(
    world: World, tasks: Sequence[Task], *, format: ChatFormat, wrong: float = 0.3, seed: int = 0
) -> list[Trajectory]:
    """Let the expert draw, with a program in error for a share of the tasks.

    Args:
        world: the world `canvas`, with requests to draw.
        tasks: of the world, each demonstrated once.
        format: of the policy that learns.
        wrong: probability of a program with a wrong colour or place.
        seed: of the errors.

    Returns:
        Trajectories of the given tasks, in order; the last image of a demonstration in error does not fit the request.

    Example:
        wrong 0: every demonstration is correct by the rule of the world

    Idea: noisy instruction data, whose errors only a look at the image shows.
    """
    made = list[Trajectory]()
    for number, task in enumerate(tasks):
        rng = random.Random(derive_seed("noisy drawings", seed, number))
        program = task.metadata["program"]
        if rng.random() < wrong:
            program = drawing_words(with_error(draw_program(program, ()), rng, ("colour", "place")))
        asked = replace(task, metadata={**task.metadata, "program": program})
        one = demonstrate(world.env(()), asked, world.need("expert"), format=format, id=f"noisy/{seed}/{number}")
        made.append(replace(one, task=task))
    return made
