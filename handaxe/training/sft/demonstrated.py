"""Conversations of a world's expert, as something to learn from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat, EnvFactory, Source, StageContext
from handaxe.core.records import RatedGroup, Task, Trajectory
from handaxe.training.sft.cold_start import TASKS, demonstrations
from handaxe.training.sft.supervised import as_rated
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.world import DemonstrationNoise, World

__all__ = ["demonstrated"]

EXPERT = DemonstrationNoise()


def demonstrated(
    *,
    world: World,
    count: int,
    tokens: int | None = None,
    noise: DemonstrationNoise = EXPERT,
    where: Callable[[Task], bool] = lambda task: True,
    tools: Sequence[Any] | None = None,
    fitting: bool = False,
    of_run: bool = False,
    seed: int = 0,
) -> Source:
    """Make a source of conversations in which a world's expert speaks in the policy's place, and its tools answer.

        the k-th conversation is about task k mod n of the first n = min(count, 4096) training tasks of seed

    It asks nothing of the site but its engine and chat format, so that a stage that learns from it may be shared by
    runs of all seeds; unless it is of the run.

    Args:
        world: whose expert.
        count: conversations, >= 1.
        tokens: that the expert says in all: of the conversations, the first that have as many; None for all of them.
        noise: what the expert is changed by; nothing unless told otherwise.
        where: which tasks are asked: the first n of these, as far as there are so many among 4096.
        tools: offered in these conversations; None: the world's own.
        fitting: leave tasks out whose conversation with the expert does not fit into the engine's context.
        of_run: the tasks are those that the run's curriculum hands out first, in its environment, and the seed is its
            own: what reinforcement learning would have learned from.
        seed: of tasks and habit.

    Returns:
        A source for the stage `teach`: each conversation a group of its own.

    Raises:
        InputError: count below 1, or too few for so many tokens; the world has no expert, or no such task; a
            conversation, or with `fitting` each of them, does not fit into the engine's context.

    Example:
        teach(source=demonstrated(world=arithmetic(), count=320)) takes ten steps of 32 conversations

    Idea: supervised fine-tuning before reinforcement learning, on a world's own right answers.
    """
    if count < 1:
        raise InputError(f"{count} conversations are nothing to learn from; give 1 or more")
    world.need("expert")

    def source(site: StageContext) -> list[RatedGroup]:
        drawn, most = site.seed if of_run else seed, site.engine.max_length
        env = site.env if of_run else world.env(world.tools if tools is None else tools)
        asked = [*filter(where, site.tasks.next(0, count))] if of_run else _such(world, where, min(count, TASKS), drawn)
        if fitting:
            asked = _fitting(asked, world, env, site.format, most)
        spoken = demonstrations(
            world, env, asked, noise=noise, count=count, seed=drawn, format=site.format, context=most
        )
        return [as_rated([one]) for one in (spoken if tokens is None else _first(spoken, tokens))]

    return source


def _such(world: World, where: Callable[[Task], bool], count: int, seed: int) -> list[Task]:
    """The first training tasks that are such; of more and more tasks, until there are enough."""
    among, found = count, list[Task]()
    while len(found) < count:
        found = [*filter(where, world.tasks("train", among, seed))][:count]
        if among == TASKS:
            break
        among = min(2 * among, TASKS)
    if not found:
        raise InputError(f"of {among} training tasks of {world.name} there is none such as where= asks for")
    return found


def _first(spoken: Sequence[Trajectory], tokens: int) -> Sequence[Trajectory]:
    """The first conversations, up to the one with which so many tokens are said."""
    said = 0
    for number, one in enumerate(spoken, start=1):
        said += one.num_tokens
        if said >= tokens:
            return spoken[:number]
    raise InputError(f"{len(spoken)} conversations have {said} tokens and not {tokens}: give a larger count")


def _fitting(tasks: Sequence[Task], world: World, env: EnvFactory, format: ChatFormat, most: int) -> list[Task]:
    expert, rollout = world.need("expert"), world.make_rollout(world.start_turns)
    kept = []
    for task in tasks:
        one = demonstrate(env, task, expert, format=format, context=most, rollout=rollout)
        if one.ending.reason != "length" and all(len(sequence) <= most for sequence in one.sequences):
            kept.append(task)
    if not kept:
        raise InputError(f"none of {len(tasks)} tasks fits into {most} tokens, all that the policy reads")
    return kept
