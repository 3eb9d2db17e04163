"""Conversations of a world's expert about the very tasks of a run, as something to learn from."""

from __future__ import annotations

from handaxe.errors import InputError
from handaxe.records import Rated
from handaxe.slots import Site, Source
from handaxe.training.cold_start import demonstrations
from handaxe.training.sources import scripted
from handaxe.worlds.world import Habit, World

__all__ = ["shown_tasks"]

EXACT = Habit()


def shown_tasks(*, world: World, count: int, habit: Habit = EXACT) -> Source:
    """Make a source of the expert's conversations about the first tasks of the run it is part of, in its environment.

    Args:
        world: whose expert speaks.
        count: conversations, one a task, of the tasks that the run's curriculum hands out first.
        habit: how often it calls, see `worlds.habits`; the expert's own unless told otherwise.

    Returns:
        A source: (Site) -> [Rated], each conversation a group of its own.

    Raises:
        InputError: a count below 1, or no expert; when played, what does not fit into the context.

    Example:
        teach(source=shown_tasks(world=world, count=320), epochs=6) is a stage of SFT
    """
    if count < 1:
        raise InputError(f"shown_tasks takes a count of at least 1, not {count}")
    world.need("expert")

    def source(site: Site) -> list[Rated]:
        spoken = demonstrations(
            world,
            site.env,
            site.tasks.next(0, count),
            habit=habit,
            count=count,
            seed=site.seed,
            format=site.format,
            context=site.engine.max_length,
        )
        return scripted(trajectories=spoken)(site)

    return source
