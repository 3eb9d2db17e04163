"""The training loop: it calls the roles, in order, and nothing else."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from handaxe.exchange import Work
from handaxe.ops.seeds import generator
from handaxe.records import EndingKind, Rated, Sampling
from handaxe.rollouts.driver.executor import Executor
from handaxe.rollouts.stopping.rule import StopRule
from handaxe.selection.keep_all import keep_all
from handaxe.slots import ChatFormat, Credit, Curriculum, Engine, EnvFactory, Loss, Reward, Rollout, Selector
from handaxe.training.about import describe
from handaxe.training.endings import DEFAULT, Treatment, treatments
from handaxe.training.gate import token_ages
from handaxe.training.generate import Pace, Player, carried_out
from handaxe.training.group_play import Tried
from handaxe.training.loggers import Logger
from handaxe.training.measure import Clock, group_metrics, settle
from handaxe.training.rate import check_features, restarting
from handaxe.training.run import Evaluate, EvaluateEvery, Keep, Run, TrainResult
from handaxe.training.schedule import rate_at
from handaxe.training.streaming import Streaming
from handaxe.training.update import update

__all__ = ["train"]

KEEP_ALL = keep_all()
SAMPLING = Sampling()


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
    sampling: Sampling = SAMPLING,
    steps: int = 30,
    groups: int = 16,
    group_size: int = 8,
    learning_rate: float | Callable[[int], float] = 1e-3,
    epochs: int = 1,
    minibatches: int = 1,
    micro_batch_rows: int = 64,
    rounds: int = 1,
    on_ending: Mapping[EndingKind, Treatment] = DEFAULT,
    annotate: Sequence[str] = (),
    evaluate: Evaluate | None = None,
    eval_every: int = 0,
    seed: int = 0,
    out: Path | None = None,
    loggers: Sequence[Logger] = (),
    progress: bool = True,
    resume: bool = False,
    retries: int = 1,
    workers: int | Executor = 8,
    lockstep: bool = False,
    reward_beside: bool = False,
    spare: int = 0,
    stop_when: StopRule | None = None,
    segment_tokens: int | None = None,
    segment_calls: int | None = None,
    staleness: int = 0,
    meanwhile: Callable[[Sequence[Rated]], Work] | None = None,
    checkpoint_every: int = 10,
    keep_checkpoints: int = 2,
    recipe: Mapping[str, Any] | None = None,
) -> TrainResult:
    """Train a policy: draw tasks, play groups, reward, credit, select, update; `steps` times.

    Args:
        engine, format, env, tasks, rollout, reward, credit, loss, select, sampling: the roles; see handaxe.slots.
        steps: steps in all, those before a resume included; >= 0.
        groups, group_size: tasks a step, attempts a task; >= 1.
        learning_rate: of the optimiser, > 0; or a function of the step, from 0 (see training.schedule).
        epochs, minibatches: passes over what a step selected; optimiser steps a pass, each on a random part of the
            rollouts with denominators of its own; >= 1.
        micro_batch_rows: sequences in one forward and backward, >= 1; changes memory and time, not the result.
        rounds: most generation rounds a step, >= 1. With 2 or more, generation goes on until `groups` of all groups of
            the step are selected, and those beyond are left out (DAPO).
        on_ending: what is done with an attempt by the way it ended; see training.endings.
        annotate: features the engine measures on every scored sequence before credit: old_logp, ref_logp, value,
            entropy, collision.
        evaluate, eval_every: called as evaluate(engine, steps done) before the first step, every `eval_every` steps
            and after the last; 0 is never.
        seed: every draw derives from it.
        out: the run's folder, for record and checkpoints; None keeps nothing.
        loggers: called with the step and its metrics, after each; closed at the end.
        progress: whether a bar is shown on stderr.
        resume: go on after the last checkpoint in `out`; starts anew when there is none. In lockstep, with staleness 0
            and no segments, bit for bit; else groups that were under way are launched again, from their beginning.
        retries: how often an attempt that ended in something to "retry" is tried again; >= 0.
        workers: threads for environments, >= 1; or who carries out what they are asked.
        lockstep: sample everybody who speaks in one batch, then let everybody act: the same bits whatever the tools'
            timing, unless a rollout has a `Budget(seconds=)`. False lets nobody wait for another one's tool; log-probs
            then agree within rounding.
        reward_beside: call the reward in one of the workers' threads, for one group at a time, while the others are
            played on: for a judge that is waited for. Many rewards need the main thread; see docs/asynchronous.md.
        spare: attempts a group beyond group_size, >= 0. The first group_size that end are kept, the others stopped.
        stop_when: whether the rest of a group is stopped; see rollouts.stopping. What is stopped is never scored.
        segment_tokens, segment_calls: how much an attempt may add in one step, >= 1, each or both. Who needs more is
            held and goes on first in the next step, under the new weights; a group trains once all of it has ended.
            `groups` are in play at a time, so a step trains that many at most.
        staleness: most steps that a trained token may be old, >= 0. Groups are launched so many steps ahead, and their
            tools work during the update. 0 launches a step's groups in that step. See docs/asynchronous.md.
        meanwhile: given what will train, work that the update waits for while later groups are played on under the old
            weights, such as training on another machine.
        checkpoint_every, keep_checkpoints: steps between checkpoints, and how many of them stay; >= 1. The last step
            and Ctrl-C always write one.
        recipe: JSON facts on where these arguments came from, kept in recipe.json.

    Returns:
        Metrics of every step, and the folder. After Ctrl-C the step at hand is finished and `stopped` says so.

    Raises:
        InputError: arguments that do not fit; a folder in use or full.
        TaskError: the curriculum has no task.
        TrainingError: a loss or gradient that is not finite; the record is intact up to the step before.
        CheckpointError: on resume, a damaged checkpoint or one of another run.
    """
    about = describe(locals())
    treatment = treatments(on_ending)
    check_features(annotate)
    shape, segment = (steps, groups, group_size, rounds), (segment_tokens, segment_calls)
    pace = Pace(*shape, spare, stop_when, *segment, staleness, lockstep)
    roles = (engine, format, env, rollout, sampling)
    play = Player(*roles, treatment=treatment, pace=pace, retries=retries, workers=workers, seed=seed)
    parts = {"tasks": tasks, "env": env, "rollout": rollout, "reward": reward, "credit": credit}
    parts |= {"select": select, "loss": loss, "learning_rate": learning_rate} | ({"play": play} if pace.carries else {})
    beside = play if reward_beside else None
    keep = Keep(out, resume, checkpoint_every, keep_checkpoints)
    run = Run(engine, parts, steps, about, keep, EvaluateEvery(evaluate, eval_every), loggers, progress)
    with run, play:
        for step in run.todo():
            clock, choose = Clock(), restarting(select) if rounds > 1 else select
            tried, rated, selected = list[Tried](), list[Rated](), list[Rated]()
            for finishing in play.rounds(tasks, step, run.playing):
                stream = Streaming(
                    reward, engine, annotate, beside=beside, treatment=treatment, retries=retries, clock=clock
                )
                for placed in clock.over("sampling", finishing):
                    stream(placed)
                fresh = stream.rate(credit)
                tasks.observe(fresh)
                tried, rated = tried + stream.tried, rated + fresh
                selected = list(choose(rated))
                if len(selected) >= groups:
                    break
            trained = selected[:groups] if rounds > 1 else selected
            if meanwhile is not None:
                with clock("sampling"):
                    play.beside(carried_out(meanwhile(trained)))
                    play.wait()
            with clock("update"):
                learned = update(
                    engine,
                    loss,
                    trained,
                    epochs=epochs,
                    parts=minibatches,
                    rows=micro_batch_rows,
                    learning_rate=rate_at(learning_rate, step),
                    rng=generator(seed, "minibatches", step),
                )
            kept, ages = settle(tried, selected, trained), token_ages(trained, play.begun)
            run.finish(kept, group_metrics(kept, clock.seconds) | ages | {"groups/held": float(play.held)} | learned)
    return run.result()
