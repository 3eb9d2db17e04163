"""Makes the policy that training begins from in a world, by supervised steps on its expert's conversations.

    expert + Habit() --play--> conversations --SFT, `skill` steps--> knows how to call
    expert + habit   --play--> conversations --SFT, `steps` steps--> calls as the habit says

The tools really answer while these conversations are played. What is learnt is kept in the cache folder (HANDAXE_CACHE,
or ~/.cache/handaxe), by a digest of everything that it depends on.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import handaxe
from handaxe.engines.local import LocalEngine
from handaxe.errors import InputError
from handaxe.models.compact import Compact
from handaxe.models.load import Policy, load
from handaxe.models.tiny import TinyModel
from handaxe.ops.seeds import derive_seed
from handaxe.records import Message, Task, Trajectory
from handaxe.slots import ChatFormat, EnvFactory
from handaxe.training.schedule import cosine
from handaxe.training.site import make_site
from handaxe.training.sources import scripted
from handaxe.training.stages.teach import teach
from handaxe.worlds.cache import cached, digest
from handaxe.worlds.demonstrate import demonstrate
from handaxe.worlds.habits import guess, with_habit
from handaxe.worlds.world import Facts, Habit, Start, World

__all__ = ["demonstrations", "start_policy"]

TASKS = 4096
"""Most questions that conversations are made of; where there are more conversations, they come again."""
PROBED = 64
"""Conversations of each phase that enter the digest."""


def start_policy(
    world: World,
    *,
    tools: Sequence[Any] | None = None,
    seed: int = 0,
    out: Path | None = None,
    progress: bool = False,
) -> Policy:
    """The tiny policy that training starts from in a world; it is made where it is not in the cache yet.

    Args:
        world: needs an expert and a start.
        tools: those offered; None: the world's own.
        seed: of tasks, conversations and their order.
        out: a folder to write the policy to besides, for `--model FOLDER`.
        progress: show bars.

    Returns:
        The policy, as `load` gives one.

    Raises:
        InputError: the world has no expert or no start, or its conversations do not fit into the policy's context.

    Example:
        start_policy(sums()) is a policy that calls the calculator for most questions, easy or not
    """
    start: Start = world.need("start")
    world.need("expert")
    env = world.env(world.tools if tools is None else tools)
    tasks = world.tasks("train", min(TASKS, (start.skill + start.steps) * start.batch_size), seed)
    policy = load("tiny")
    phases = [
        (habit, count * start.batch_size, derive_seed("cold start", seed, number))
        for number, (habit, count) in enumerate([(Habit(), start.skill), (start.habit, start.steps)])
    ]

    def play(habit: Habit, count: int, drawn: int) -> list[Trajectory]:
        return demonstrations(
            world, env, tasks, habit=habit, count=count, seed=drawn, format=policy.format, lessons=start.lessons
        )

    folder = cached("starts", f"{world.name}-{_name(policy, start, tasks, phases, play)}")
    if not folder.exists():
        engine = LocalEngine(policy.model, betas=(0.9, 0.98), weight_decay=0.01)
        for habit, count, drawn in phases:
            if count:
                _teach(engine, play(habit, count, drawn), start, seed=drawn, progress=progress)
        _keep(policy.model, folder)
    made = load(str(folder))
    if out is not None:
        _tiny(made.model).save(out)
    return made


def demonstrations(
    world: World,
    env: EnvFactory,
    tasks: Sequence[Task],
    *,
    habit: Habit,
    count: int,
    seed: int,
    format: ChatFormat | None = None,
    context: int = 512,
    lessons: Sequence[tuple[str, str]] = (),
) -> list[Trajectory]:
    """Conversations of the world's expert with a habit, the first `count` of an endless list.

    Args:
        world: whose expert speaks.
        env: made anew for every conversation.
        tasks: gone through in order, again and again.
        habit: see `worlds.habits`.
        count: how many.
        seed: of habits and guesses.
        format: Compact unless told otherwise.
        context: most tokens of one.
        lessons: every other conversation is one of these, where there are any; see `Start`.

    Raises:
        InputError: there is no task, or one of the first conversations does not fit into the context.
    """
    if not tasks:
        raise InputError(f"world {world.name!r} gave no task to make conversations of")
    expert, answers = world.need("expert"), [task.answer for task in tasks]
    made = []
    for number in range(count):
        drawn = derive_seed(seed, number)
        task = tasks[number % len(tasks)]
        if lessons and number % 2:
            said, answered = lessons[drawn % len(lessons)]
            task, speaker = Task(f"lesson-{number}", (Message("user", said),), answered), _by_heart
        else:
            rng = random.Random(drawn)
            wrong = [guess(task.answer, rng.choices(answers, k=4), rng) for _ in range(4)]
            speaker = with_habit(expert, habit, guesses=wrong, seed=derive_seed(seed, number, "habit"))
        one = demonstrate(
            env, task, speaker, format=format or Compact(), id=f"start/{number}", seed=drawn, context=context
        )
        if one.ending.reason == "length":
            raise InputError(
                f"a conversation about task {task.id!r} of world {world.name!r} does not fit into {context} tokens, "
                "all that the tiny policy reads: ask shorter questions, or let the tools reply more briefly"
            )
        if one.ending.kind == "infra_error":
            raise InputError(f"the tools failed on task {task.id!r} of world {world.name!r}: {one.ending.reason}")
        made.append(one)
    return made


def _by_heart(task: Task, facts: Facts) -> Message:
    del facts
    return Message("assistant", task.answer)


def _teach(engine: LocalEngine, conversations: list[Trajectory], start: Start, *, seed: int, progress: bool) -> None:
    """The one place where a cold start learns."""
    steps = -(-len(conversations) // start.batch_size)
    rate = cosine(start.learning_rate, steps=steps, warmup_steps=steps // 30, floor=start.learning_rate / 10)
    stage = teach(
        source=scripted(trajectories=conversations),
        batch_size=start.batch_size,
        micro_batch_rows=start.batch_size,
        learning_rate=rate,
        restart=False,
    )
    stage(make_site(engine=engine, format=Compact(), seed=seed, progress=progress))


def _name(
    policy: Policy,
    start: Start,
    tasks: Sequence[Task],
    phases: Sequence[tuple[Habit, int, int]],
    play: Callable[[Habit, int, int], list[Trajectory]],
) -> str:
    """A digest of version, start weights, start, questions, and what is said of the first with which tools."""
    parts: list[str | bytes] = [handaxe.__version__, repr(start)]
    parts += [value.numpy().tobytes() for value in _tiny(policy.model).module.state_dict().values()]
    parts += [repr((task.messages, task.answer, task.tools)) for task in tasks]
    for habit, count, drawn in phases:
        for one in play(habit, min(PROBED, count), drawn):
            parts += [repr(one.tools), *(sequence.ids.tobytes() for sequence in one.sequences)]
    return digest(parts)


def _tiny(model: Any) -> TinyModel:
    assert isinstance(model, TinyModel)
    return model


def _keep(model: Any, folder: Path) -> None:
    """Write the folder at once, so that a process beside this one finds all of it or nothing."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        _tiny(model).save(Path(work) / "made")
        try:
            (Path(work) / "made").rename(folder)
        except OSError:  # made by another process meanwhile, from the same
            if not folder.exists():
                raise
