"""The training loop: it calls the roles, in order, and nothing else."""

from collections.abc import Callable, Mapping
from collections.abc import Sequence as List
from pathlib import Path
from typing import Any

from handaxe.ops.seeds import generator
from handaxe.records import EndingKind, Rated, Sampling
from handaxe.selection.keep_all import keep_all
from handaxe.slots import ChatFormat, Credit, Curriculum, Engine, EnvFactory, Loss, Reward, Rollout, Selector
from handaxe.training.about import describe
from handaxe.training.endings import DEFAULT, Treatment, treatments
from handaxe.training.generate import Player, Tried, draws
from handaxe.training.loggers import Logger
from handaxe.training.measure import Clock, group_metrics, settle
from handaxe.training.rate import annotate as measure_features
from handaxe.training.rate import check_features, credit_all, restarting, reward_all
from handaxe.training.run import Evaluate, EvaluateEvery, Keep, Run, TrainResult
from handaxe.training.schedule import rate_at
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
    annotate: List[str] = (),
    evaluate: Evaluate | None = None,
    eval_every: int = 0,
    seed: int = 0,
    out: Path | None = None,
    loggers: List[Logger] = (),
    progress: bool = True,
    resume: bool = False,
    retries: int = 1,
    workers: int = 8,
    checkpoint_every: int = 10,
    keep_checkpoints: int = 2,
    recipe: Mapping[str, Any] | None = None,
) -> TrainResult:
    """Train a policy: draw tasks, play groups, reward, credit, select, update; `steps` times.

    Args:
        engine, format, env, tasks, rollout, reward, credit, loss, select, sampling: the roles; see handaxe.slots.
        steps: steps in all, those before a resume included.
        groups, group_size: tasks a step, attempts a task.
        learning_rate: a number, or a function of the step (see training.schedule).
        epochs, minibatches: passes over what a step selected; optimiser steps a pass, each on a random part of the
            rollouts with denominators of its own.
        micro_batch_rows: rows in one forward and backward; changes memory and time, not the result.
        rounds: most generation rounds a step. With 2 or more, generation goes on until `groups` of all groups of the
            step are selected, and those beyond are left out (DAPO).
        on_ending: what is done with an attempt by the way it ended; see training.endings.
        annotate: features the engine measures on every scored sequence before credit: old_logp, ref_logp, value,
            entropy, collision.
        evaluate, eval_every: called as evaluate(engine, steps done) before the first step, every `eval_every` steps
            and after the last; 0 is never.
        seed: every draw derives from it.
        out: the run's folder, for record and checkpoints; None keeps nothing.
        resume: go on after the last checkpoint in `out`, bit for bit; starts anew when there is none.
        retries: how often an attempt that ended in something to "retry" is tried again.
        workers: environments that act at the same time.
        checkpoint_every, keep_checkpoints: steps between checkpoints, and how many of them stay. The last step and
            Ctrl-C always write one.
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
    parts = {"tasks": tasks, "env": env, "rollout": rollout, "reward": reward, "credit": credit}
    parts |= {"select": select, "loss": loss, "learning_rate": learning_rate}
    keep = Keep(out, resume, checkpoint_every, keep_checkpoints)
    run = Run(engine, parts, steps, about, keep, EvaluateEvery(evaluate, eval_every), loggers, progress)
    play = Player(engine, format, env, rollout, sampling, treatment, group_size, retries, workers, seed, run.playing)
    with run:
        for step in run.todo():
            clock, choose = Clock(), restarting(select) if rounds > 1 else select
            tried, rated, selected = list[Tried](), list[Rated](), list[Rated]()
            for drawn in draws(tasks, step, groups=groups, rounds=rounds):
                with clock("sampling"):
                    made = play(step, drawn, tried)
                with clock("reward"):
                    scored = reward_all(made, reward, treatment=treatment, retries=retries)
                with clock("credit"):
                    measure_features(scored, engine, annotate)
                    fresh = credit_all(scored, credit)
                tasks.observe(fresh)
                tried, rated = tried + made, rated + fresh
                selected = list(choose(rated))
                if len(selected) >= groups:
                    break
            trained = selected[:groups] if rounds > 1 else selected
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
            kept = settle(tried, selected, trained)
            run.finish(kept, group_metrics(kept, clock.seconds) | learned)
    return run.result()
