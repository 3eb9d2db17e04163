"""Demonstrations by a world's expert, as training data."""

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
    """Make a source of conversations between a world's expert, as the policy, and the world's tools.

        the k-th conversation is about task k mod n of the first n = min(count, 4096) training tasks of seed

    The source reads only engine and chat format of its context, so that runs of all seeds can share a stage that uses
    it; `of_run` excludes this.

    Args:
        world: provides the expert.
        count: conversations, >= 1.
        tokens: total tokens of the expert: the first conversations that reach this number; None for all of them.
        noise: noise of the expert; default none.
        where: filter of tasks: the first n accepted ones, as far as 4096 tasks contain them.
        tools: offered tools; None: the world's.
        fitting: leave out tasks with conversations beyond the engine's context.
        of_run: use the first tasks of the run's curriculum, its environment and its seed: the data of reinforcement
            learning.
        seed: of tasks and noise.

    Returns:
        A source for the stage `teach`: each conversation is a separate group.

    Raises:
        InputError: count below 1, or too small for `tokens`; the world has no expert, or no such task; a
            conversation, or with `fitting` each of them, exceeds the engine's context.

    Example:
        teach(source=demonstrated(world=arithmetic(), count=320)) takes ten steps of 32 conversations

    Idea: supervised fine-tuning before reinforcement learning, on a world's reference answers.
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
    """Return the first accepted training tasks, drawing more tasks until there are enough."""
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
    """Return the first conversations, up to the one that reaches this number of tokens."""
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
