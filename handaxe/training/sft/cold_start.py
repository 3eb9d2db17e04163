"""Cold start: supervised fine-tuning on a world's expert conversations before reinforcement learning.

    warmup pairs     --------> conversations --SFT, `warmup_steps`-> memorised answers
    expert           --play--> conversations --SFT, `skill` steps--> correct calls
    expert + noise   --play--> conversations --SFT, `steps` steps--> calls at the noise's rates

The real tools reply during these conversations. The checkpoint is stored in the cache folder (HANDAXE_CACHE,
or ~/.cache/handaxe), under a digest of all its inputs.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import handaxe
from handaxe import engines
from handaxe.core.deferred import DeferredModule
from handaxe.core.errors import InputError
from handaxe.core.model_api import Model
from handaxe.core.protocols import ChatFormat, EnvFactory, StageContext
from handaxe.core.records import Message, Task, Trajectory
from handaxe.models.chat_formats.compact import Compact
from handaxe.ops.cache_path import cache_path, content_digest
from handaxe.ops.process_lock import process_lock
from handaxe.ops.seeds import derive_seed
from handaxe.ops.tensor_digest import tensor_digest
from handaxe.training.loop.interrupt import Interrupt
from handaxe.training.loop.progress import Bar
from handaxe.training.loop.schedule import cosine
from handaxe.training.stages.context import make_site
from handaxe.training.stages.sources import scripted
from handaxe.training.stages.teach import teach
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.demonstration_noise import noisy_expert, wrong_guess
from handaxe.worlds.world import DemonstrationNoise, Expert, Facts, Start, World

if TYPE_CHECKING:
    from handaxe.models import load as loading
    from handaxe.models import tiny
else:
    loading = DeferredModule("handaxe.models.load")
    tiny = DeferredModule("handaxe.models.tiny")

__all__ = ["demonstrations", "extend_to_start_context", "start_policy"]

EXACT = DemonstrationNoise()
TASKS = 4096
"""Maximum number of distinct questions; further conversations repeat them."""
PROBED = 64
"""Conversations of each phase that enter the digest."""
DRILL_RATE = 3.0
"""Learning rate factor of a phase of warmup pairs alone: they are short, and no skill can be lost yet."""


class _Phase(NamedTuple):
    """Phase: number of conversations, their noise (None: warmup pairs alone), and learning rate."""

    noise: DemonstrationNoise | None
    size: int
    rate: float
    seed: int


def start_policy(
    world: World,
    *,
    policy: loading.Policy | None = None,
    tools: Sequence[Any] | None = None,
    seed: int = 0,
    out: Path | None = None,
    device: str = "cpu",
    progress: bool = False,
) -> loading.Policy:
    """Return a world's cold-start checkpoint, from the cache or freshly trained.

    Args:
        world: needs an expert and a start.
        policy: initial policy, modified in place; None is the world's `start_model`.
        tools: offered tools; None: the world's.
        seed: of tasks, conversations and their order.
        out: additional folder for the model, for `--model FOLDER`.
        device: of the training; the policy is returned on the CPU.
        progress: show bars.

    Returns:
        The policy, as from `load`.

    Raises:
        InputError: the world has no expert or no start, or its conversations exceed the policy's context.
        KeyboardInterrupt: on Ctrl-C; nothing is written, neither to the cache nor to `out`.

    Example:
        start_policy(arithmetic()) is a policy that calls the calculator for most questions, easy or not
    """
    start: Start = world.need("start")
    world.need("expert")
    env = world.env(world.tools if tools is None else tools)
    tasks = world.tasks("train", min(TASKS, max(1, start.skill + start.steps) * start.batch_size), seed)
    policy = extend_to_start_context(policy or loading.load(world.start_model), world)
    context = policy.model.max_length
    planned = [
        (None, start.warmup_steps, DRILL_RATE),
        (DemonstrationNoise(), start.skill, 1.0),
        (start.noise, start.steps, 1.0),
    ]
    phases = [
        _Phase(noise, steps * start.batch_size, rate * start.learning_rate, derive_seed("cold start", seed, number))
        for number, (noise, steps, rate) in enumerate(planned)
        if steps
    ]

    def play(phase: _Phase, count: int, *, show: bool = False) -> list[Trajectory]:
        if phase.noise is None:
            return _warmup_conversations(start.warmup, env, count=count, seed=phase.seed, format=policy.format)
        return demonstrations(
            world,
            env,
            tasks,
            noise=phase.noise,
            count=count,
            seed=phase.seed,
            format=policy.format,
            context=context,
            warmup=start.warmup,
            progress=show,
        )

    folder = cache_path("starts", f"{world.name}-{_name(policy, start, tasks, phases, play)}")
    with process_lock(cache_path("locks", folder.name)):  # parallel runs of one world train its start once
        if not folder.exists():
            engine = engines.LocalEngine(policy.model, device=device, betas=(0.9, 0.98), weight_decay=0.01)
            for phase in phases:
                site = make_site(engine=engine, format=policy.format, seed=phase.seed, progress=progress)
                conversations = play(phase, phase.size, show=progress)
                with Interrupt() as interrupt:  # without it, an interrupted phase would look complete
                    _teach(site, conversations, phase, start.batch_size)
                if interrupt.requested:
                    raise KeyboardInterrupt
            _keep(policy.model, folder)
    made = loading.load(str(folder))
    if out is not None:
        made.model.save(out)
    return made


def extend_to_start_context(policy: loading.Policy, world: World) -> loading.Policy:
    """Return the policy; the context of a tiny one is extended in place to `world.start_context` tokens."""
    if isinstance(policy.model, tiny.TinyModel):
        policy.model.extend_context(world.start_context)
    return policy


def demonstrations(
    world: World,
    env: EnvFactory,
    tasks: Sequence[Task],
    *,
    noise: DemonstrationNoise = EXACT,
    count: int,
    seed: int,
    format: ChatFormat | None = None,
    context: int = 512,
    warmup: Sequence[tuple[str, str]] = (),
    progress: bool = False,
) -> list[Trajectory]:
    """Return the first `count` of an endless list of conversations of the world's expert, with noise.

    Args:
        world: provides the expert.
        env: made separately for every conversation.
        tasks: used cyclically, in order.
        noise: see `worlds.parts.demonstration_noise`; default: every call as the expert makes it.
        count: number of conversations.
        seed: of noise and guesses.
        format: default Compact.
        context: maximum tokens of a conversation.
        warmup: pairs for every second conversation, if any; see `Start`.
        progress: show a bar.

    Raises:
        InputError: there is no task, or one of the first conversations exceeds the context.
    """
    if not tasks:
        raise InputError(f"world {world.name!r} gave no task to make conversations of")
    expert, answers = world.need("expert"), [task.answer for task in tasks]
    made = list[Trajectory]()
    speaker: Expert
    with Bar(count, title="demonstration", enabled=progress) as bar:
        for number in range(count):
            drawn = derive_seed(seed, number)
            task = tasks[(number // 2 if warmup else number) % len(tasks)]
            if warmup and number % 2:
                said, answered = warmup[drawn % len(warmup)]
                task, speaker = Task(f"lesson-{number}", (Message("user", said),), answered), _by_heart
            else:
                rng = random.Random(drawn)
                wrong = [wrong_guess(task.answer, rng.choices(answers, k=4), rng) for _ in range(4)]
                speaker = noisy_expert(expert, noise, guesses=wrong, seed=derive_seed(seed, number, "habit"))
            one = demonstrate(
                env,
                task,
                speaker,
                format=format or Compact(),
                id=f"start/{number}",
                seed=drawn,
                context=context,
                rollout=world.make_rollout(world.start_turns),
            )
            _check_complete(one, world, context)
            made.append(one)
            bar.step()
    return made


def _check_complete(one: Trajectory, world: World, context: int) -> None:
    """Raise InputError for a conversation cut by the context, or ended by failed tools."""
    task = one.task
    if one.ending.reason == "length":
        raise InputError(
            f"a conversation about task {task.id!r} of world {world.name!r} does not fit into {context} tokens, "
            "all that the policy reads: ask shorter questions, or let the tools reply more briefly"
        )
    if one.ending.kind == "infra_error":
        raise InputError(f"the tools failed on task {task.id!r} of world {world.name!r}: {one.ending.reason}")


def _by_heart(task: Task, facts: Facts) -> Message:
    del facts
    return Message("assistant", task.answer)


def _warmup_conversations(
    warmup: Sequence[tuple[str, str]], env: EnvFactory, *, count: int, seed: int, format: ChatFormat
) -> list[Trajectory]:
    """Conversations of warmup pairs alone, without tools."""
    if not warmup:
        raise InputError("a start with warmup_steps > 0 needs warmup pairs")
    tasks = [Task(f"lesson-{i}", (Message("user", said),), answer, ()) for i, (said, answer) in enumerate(warmup)]
    spoken = [demonstrate(env, task, _by_heart, format=format, id=task.id) for task in tasks]
    return [spoken[derive_seed(seed, number) % len(spoken)] for number in range(count)]


def _teach(site: StageContext, conversations: list[Trajectory], phase: _Phase, batch_size: int) -> None:
    """Train on one phase's conversations."""
    steps = -(-len(conversations) // batch_size)
    rate = cosine(phase.rate, steps=steps, warmup_steps=steps // 30, floor=phase.rate / 10)
    stage = teach(
        source=scripted(trajectories=conversations),
        batch_size=batch_size,
        micro_batch_rows=batch_size,
        learning_rate=rate,
        restart=False,
    )
    stage(site)


def _name(
    policy: loading.Policy,
    start: Start,
    tasks: Sequence[Task],
    phases: Sequence[_Phase],
    play: Callable[[_Phase, int], list[Trajectory]],
) -> str:
    """Digest of version, start weights, start, questions, and the first conversations with their tools."""
    parts: list[str | bytes] = [handaxe.__version__, repr(start), tensor_digest(policy.model.module.state_dict())]
    if policy.model.max_length != tiny.TinyConfig.max_length:
        parts.append(f"context {policy.model.max_length}")
    parts += [repr((task.messages, task.answer, task.tools)) for task in tasks]
    for phase in phases:
        for one in play(phase, min(PROBED, phase.size)):
            parts += [repr(one.tools), *(sequence.ids.tobytes() for sequence in one.sequences)]
    return content_digest(parts)


def _keep(model: Model, folder: Path) -> None:
    """Write the folder atomically, for concurrent processes."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        model.save(Path(work) / "made")
        try:
            (Path(work) / "made").rename(folder)
        except OSError:  # made meanwhile by another process, from equal inputs
            if not folder.exists():
                raise
