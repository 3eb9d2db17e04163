"""The training loop: calls the roles in order."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from handaxe.core.deferred import torch
from handaxe.core.protocols import (
    AdvantageTransform,
    ChatFormat,
    Credit,
    Curriculum,
    Engine,
    EnvFactory,
    Learner,
    Loss,
    Reward,
    Rollout,
    Selector,
)
from handaxe.core.records import PlayedGroup, RatedGroup, Sampling
from handaxe.ops.seeds import derive_seed, generator
from handaxe.selection.keep_all import keep_all
from handaxe.selection.parts.dispositions import live
from handaxe.training.loop.check_roles import check_roles
from handaxe.training.loop.config import AsyncConfig, RunConfig, Updates
from handaxe.training.loop.describe import describe
from handaxe.training.loop.first_step import FirstStep
from handaxe.training.loop.learners import begin_all, learn_all, named_learners
from handaxe.training.loop.player import Player, work_plan
from handaxe.training.loop.rate import check_features
from handaxe.training.loop.run import Run, TrainResult
from handaxe.training.loop.schedule import rate_at
from handaxe.training.loop.select import Selection, annotate_added, apply_transform, live_played
from handaxe.training.loop.siblings import check_siblings
from handaxe.training.loop.staleness import token_ages
from handaxe.training.loop.step_metrics import Clock, added_metrics, group_metrics
from handaxe.training.loop.step_record import step_record
from handaxe.training.loop.streaming import Streaming
from handaxe.training.loop.update import update
from handaxe.training.loop.watch import check_scored

__all__ = ["train"]

KEEP_ALL = keep_all()
SAMPLING = Sampling()
UPDATES = Updates()
ASYNC_CONFIG = AsyncConfig()
RUN = RunConfig()
STATEFUL = ("tasks", "env", "rollout", "reward", "credit", "select", "format", "transform", "loss", "learning_rate")
"""Arguments with state in checkpoints."""


def train(
    *,
    engine: Engine,
    format: ChatFormat,
    env: EnvFactory,
    tasks: Curriculum,
    rollout: Rollout,
    reward: Reward,
    credit: Credit,
    loss: Loss,
    select: Selector = KEEP_ALL,
    transform: AdvantageTransform | None = None,
    learners: Sequence[Learner] = (),
    sampling: Sampling | Callable[[int], Sampling] = SAMPLING,
    steps: int = 30,
    groups: int = 16,
    group_size: int = 8,
    learning_rate: float | Callable[[int], float] = 1e-3,
    seed: int = 0,
    updates: Updates = UPDATES,
    async_config: AsyncConfig = ASYNC_CONFIG,
    run: RunConfig = RUN,
) -> TrainResult:
    """Train a policy. Each step draws tasks, plays groups, and calls reward, credit, select, transform and update.

    Args:
        engine, format, env, tasks, rollout, reward, credit, loss, select: the roles; see handaxe.core.protocols.
        transform: whitens or weights the advantages of the selected groups.
        learners: parts that learn beside the policy: each once a step, after `tasks.observe`, from all rated groups in
            launch order. Their metrics are learner/CLASS/KEY; their state is saved in checkpoints.
        sampling: a value, or a function of the step that rollouts are launched for.
        steps: total number of steps, those before a resume included; >= 0.
        groups, group_size: tasks a step, rollouts a task; >= 1.
        learning_rate: of the optimiser, > 0; or a function of the step, from 0 (see training.loop.schedule).
        seed: source of all random draws.
        updates: epochs, minibatches and features; see `Updates`.
        async_config: generation of rollouts beside the updates; see `AsyncConfig`.
        run: record, checkpoints, evaluation and failure handling; see `RunConfig`.

    Returns:
        Metrics of every step, and the folder. After Ctrl-C the current step is finished and `stopped` is set.

    Raises:
        InputError: arguments do not fit, a role breaks its contract on the first step, or the folder is in use or full.
        TaskError: the curriculum has no task.
        TrainingError: a loss or gradient is not finite; the record is intact up to the step before.
        UnscoredError: tools or reward failed, and no rollout of a step has a score; the record likewise.
        CheckpointError: on resume, a checkpoint is damaged or of another run.
    """
    given = locals()
    check_roles(given)
    about = describe({**given, "run": replace(run, recipe=None)}, run.recipe)
    check_features(updates.annotate)
    if updates.epochs:
        check_siblings(group_size, credit=credit, transform=transform, rollout=rollout)
    learning = named_learners(learners)
    begin_all(learners, engine)
    roles = (engine, format, env, rollout, sampling)
    player = Player(
        *roles, async_config=async_config, run=run, steps=steps, groups=groups, group_size=group_size, seed=seed
    )
    parts = {name: given[name] for name in STATEFUL} | {f"learner/{name}": one for name, one in learning.items()}
    parts |= {"play": player} if async_config.carries else {}
    beside = player if async_config.reward_beside else None
    torch.manual_seed(derive_seed(seed, "torch"))  # of dropout; a checkpoint has its own state
    progress = Run(engine, parts, steps, about, run, format=format)
    first = FirstStep(reward=reward, credit=credit, select=select, transform=transform, loss=loss)
    with progress, player:
        for step in progress.todo():
            clock, rated = Clock(), list[RatedGroup]()
            handled = list[RatedGroup | PlayedGroup]()
            selection = Selection(select, groups if async_config.rounds > 1 else None)
            for finishing in player.rounds(tasks, step, progress.playing):
                stream = Streaming(reward, engine, updates.annotate, run=run, beside=beside, clock=clock)
                played = stream.rate(finishing, credit)
                check_scored(played)
                fresh = [one for one in played if isinstance(one, RatedGroup)]
                first.check_rated(fresh)
                tasks.observe(fresh)
                handled, rated = handled + played, rated + fresh
                selected = selection(rated)
                if len(live_played(selected, rated)) >= groups:
                    break
            with clock("learning"):
                metrics = learn_all(learning, rated, step)
            selected = selection.without_surplus(selected, rated)
            with clock("credit"):
                added = annotate_added(live(selected), rated, engine, updates.annotate)
                trained = apply_transform(transform, added)
                first.check_selected(rated, added, trained, engine.pad_id)
            if async_config.overlap is not None:
                with clock("sampling"):
                    player.beside(work_plan(async_config.overlap(trained)))
                    player.wait()
            with clock("update"):
                rate, rng = rate_at(learning_rate, step), generator(seed, "minibatches", step)
                result = update(engine, loss, trained, updates=updates, learning_rate=rate, rng=rng, step=step)
            final = [*trained, *(one for one in selected if not one.live)]
            record = step_record(handled, final, result.moved)
            metrics |= result.metrics | added_metrics(trained, rated) | {"groups/held": float(player.held)}
            ages = token_ages(trained, player.start_versions)
            progress.finish(record, group_metrics(record, clock.seconds) | ages | metrics)
    return progress.result()
