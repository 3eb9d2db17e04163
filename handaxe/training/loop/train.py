"""The training loop: it calls the roles, in order, and nothing else."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import torch

from handaxe.core.endings import DEFAULT, Treatment, treatments
from handaxe.core.protocols import (
    AuxPolicy,
    ChatFormat,
    Credit,
    Curriculum,
    Engine,
    EnvFactory,
    HiddenMeasure,
    Learner,
    Loss,
    Reward,
    Rollout,
    Selector,
    Shape,
)
from handaxe.core.records import EndingKind, Rated, Sampling
from handaxe.core.requests import Work
from handaxe.ops.seeds import derive_seed, generator
from handaxe.rollouts.driver.executor import Executor
from handaxe.rollouts.driver.others import NO_OTHERS
from handaxe.selection.keep_all import keep_all
from handaxe.training.loop.check_roles import check_roles
from handaxe.training.loop.config import AsyncConfig, RunConfig
from handaxe.training.loop.describe import describe
from handaxe.training.loop.group_play import Tried
from handaxe.training.loop.learners import begin_all, learn_all, named_learners
from handaxe.training.loop.player import Player, carried_out
from handaxe.training.loop.rate import annotate_added, check_features, played_of, reshape, restarting, without_surplus
from handaxe.training.loop.run import Evaluate, Run, TrainResult
from handaxe.training.loop.schedule import rate_at
from handaxe.training.loop.siblings import check_siblings
from handaxe.training.loop.staleness import token_ages
from handaxe.training.loop.step_metrics import Clock, added_metrics, group_metrics, settle
from handaxe.training.loop.streaming import Streaming
from handaxe.training.loop.traced import Pushed, Trace, Traced
from handaxe.training.loop.update import Enough, check_passes, update
from handaxe.training.loop.watch import check_scored

__all__ = ["train"]

KEEP_ALL = keep_all()
SAMPLING = Sampling()
PACE = AsyncConfig()
KEEP = RunConfig()


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
    shape: Shape | None = None,
    learners: Sequence[Learner] = (),
    sampling: Sampling | Callable[[int], Sampling] = SAMPLING,
    steps: int = 30,
    groups: int = 16,
    group_size: int = 8,
    learning_rate: float | Callable[[int], float] = 1e-3,
    epochs: int = 1,
    minibatches: int = 1,
    enough: Enough | None = None,
    micro_batch_rows: int = 64,
    annotate: Sequence[str | HiddenMeasure] = (),
    on_ending: Mapping[EndingKind, Treatment] = DEFAULT,
    retries: int = 1,
    evaluate: Evaluate | None = None,
    eval_every: int = 0,
    seed: int = 0,
    pace: AsyncConfig = PACE,
    keep: RunConfig = KEEP,
    workers: int | Executor = 8,
    meanwhile: Callable[[Sequence[Rated]], Work] | None = None,
    others: Mapping[str, AuxPolicy] = NO_OTHERS,
) -> TrainResult:
    """Train a policy: draw tasks, play groups, reward, credit, select, shape, update; `steps` times.

    Args:
        engine, format, env, tasks, rollout, reward, credit, loss, select: the roles; see handaxe.core.protocols.
        shape: whitens or reweights the advantages of what was selected; it selects nothing.
        learners: what learns beside the policy: each once a step, after `tasks` has observed, from all rated groups in
            order of launch. Metrics are learner/NAME/KEY, NAME for its class; saved in checkpoints.
        sampling: a value, or a function of the step that attempts are launched for.
        steps: steps in all, those before a resume included; >= 0.
        groups, group_size: tasks a step, attempts a task; >= 1.
        learning_rate: of the optimiser, > 0; or a function of the step, from 0 (see training.loop.schedule).
        epochs, minibatches: passes over what a step selected, where 0 trains nothing; optimiser steps a pass, each on a
            random part of the rollouts with denominators of its own. Groups of a lower `part` train first.
        enough: asked after each optimiser step, with its metrics; True leaves out the rest of the step's. See
            training.loop.early_stop.
        micro_batch_rows: sequences in one forward and backward, >= 1; changes memory and time, not the result.
        annotate: features the engine measures on every scored sequence before credit: old_logp, ref_logp, value,
            entropy, collision, or what a `HiddenMeasure` tells, under its name. Attempts that `select` adds are
            measured too; the old_logp that they bring stays.
        on_ending: what is done with an attempt by the way it ended; see core.endings.
        retries: how often an attempt that ended in something to "retry" is tried again; >= 0.
        evaluate, eval_every: called as evaluate(engine, steps done) before the first step, every `eval_every` steps
            and after the last; 0 is never.
        seed: every draw derives from it.
        pace: how attempts are generated beside the updates; see `AsyncConfig`.
        keep: what is kept and shown of the run; see `RunConfig`.
        workers: threads for environments, >= 1; or who carries out what they are asked.
        meanwhile: given what will train, work that the update waits for while later groups are played on under the old
            weights, such as training on another machine.
        others: further engines that rollouts and environments may ask, by name, such as a simulated user. What they say
            is recorded and counted, never scored or trained.

    Returns:
        Metrics of every step, and the folder. After Ctrl-C the step at hand is finished and `stopped` says so.

    Raises:
        InputError: arguments that do not fit; a folder in use or full.
        TaskError: the curriculum has no task.
        TrainingError: a loss or gradient that is not finite; the record is intact up to the step before.
        UnscoredError: likewise, a step of which no attempt could be scored, since the tools or the reward failed.
        CheckpointError: on resume, a damaged checkpoint or one of another run.
    """
    given = locals()
    check_roles(given)
    about = describe({**given, "keep": replace(keep, recipe=None)}, keep.recipe)
    check_features(annotate)
    if epochs:
        check_siblings(group_size, credit=credit, shape=shape, rollout=rollout)
    check_passes(epochs=epochs, minibatches=minibatches, micro_batch_rows=micro_batch_rows)
    treatment = treatments(on_ending)
    learning = named_learners(learners)
    begin_all(learners, engine)
    play = Player(
        engine,
        format,
        env,
        rollout,
        sampling,
        treatment=treatment,
        pace=pace,
        steps=steps,
        groups=groups,
        group_size=group_size,
        retries=retries,
        workers=workers,
        seed=seed,
        others=others,
    )
    parts = {"tasks": tasks, "env": env, "rollout": rollout, "reward": reward, "credit": credit, "select": select}
    parts |= {"format": format, "shape": shape, "loss": loss, "learning_rate": learning_rate}
    parts |= {f"learner/{name}": one for name, one in learning.items()} | ({"play": play} if pace.carries else {})
    beside = play if pace.reward_beside else None
    torch.manual_seed(derive_seed(seed, "torch"))  # of dropout; a checkpoint has its own state
    run = Run(engine, parts, steps, about, keep, evaluate, eval_every, format=format)
    with run, play:
        for step in run.todo():
            clock, pushed = Clock(), Pushed()
            choosing = Traced(select)
            choose = restarting(choosing, of=select) if pace.rounds > 1 else choosing
            tried = list[Tried]()
            rated = list[Rated]()
            for finishing in play.rounds(tasks, step, run.playing):
                stream = Streaming(
                    reward, engine, annotate, beside=beside, treatment=treatment, retries=retries, clock=clock
                )
                for placed in clock.over("sampling", finishing):
                    stream(placed)
                fresh = stream.rate(credit)
                check_scored(stream.tried)
                tasks.observe(fresh)
                tried, rated = tried + stream.tried, rated + fresh
                selected = list(choose(rated))
                if len(played_of(selected, rated)) >= groups:
                    break
            with clock("learning"):
                learned = learn_all(learning, rated, step)
            kept = without_surplus(selected, rated, groups) if pace.rounds > 1 else selected
            with clock("credit"):
                trained = reshape(shape, annotate_added(kept, rated, engine, annotate))
            if meanwhile is not None:
                with clock("sampling"):
                    play.beside(carried_out(meanwhile(trained)))
                    play.wait()
            with clock("update"):
                learned |= update(
                    engine,
                    loss,
                    trained,
                    epochs=epochs,
                    parts=minibatches,
                    rows=micro_batch_rows,
                    learning_rate=rate_at(learning_rate, step),
                    rng=generator(seed, "minibatches", step),
                    pushed=pushed,
                    enough=enough,
                )
            trace, ages = Trace(choosing.left_out_by, pushed.found, play.begun), token_ages(trained, play.begun)
            record = settle(tried, selected, trained, trace=trace)
            learned |= added_metrics(trained, rated) | {"groups/held": float(play.held)}
            run.finish(record, group_metrics(record, clock.seconds) | ages | learned)
    return run.result()
