"""Supervised fine-tuning, with the batches and masks of reinforcement learning."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from handaxe.core.batch import Batch
from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine, Loss, Selector, Source, Stage, StageContext
from handaxe.core.records import Advantages, RatedGroup
from handaxe.losses.cross_entropy import cross_entropy
from handaxe.selection.keep_all import keep_all
from handaxe.selection.parts.dispositions import apply_selector, live
from handaxe.training.loop.batch import microbatches
from handaxe.training.loop.describe import describe
from handaxe.training.sft.supervised import as_rated, in_batches, run_steps, supervised_batch

__all__ = ["teach"]

CROSS_ENTROPY = cross_entropy()
KEEP_ALL = keep_all()


def teach(
    *,
    source: Source,
    select: Selector = KEEP_ALL,
    loss: Loss = CROSS_ENTROPY,
    epochs: int = 1,
    batch_size: int = 32,
    micro_batch_rows: int = 64,
    learning_rate: float | Callable[[int], float] = 1e-3,
    restart: bool = True,
    optional: bool = False,
) -> Stage:
    """Make a stage of supervised fine-tuning: it raises the log-probs of the policy's tokens in trajectories.

    Training tokens are the policy's tokens within `Advantages.trains`: ids and mask of a rollout are the same as in
    reinforcement learning. Logits are read at temperature 1, independent of the sampling temperature.

    Args:
        source: of groups; see training.stages.sources.
        select: selector of groups, and by `trained` of trajectories.
        loss: (PolicyOut, Batch) -> LossOut; every training token has advantage 1.
        epochs: passes over the trajectories, each in a new order.
        batch_size: trajectories per optimiser step; the last one of an epoch may have fewer.
        micro_batch_rows: rows in one forward and backward; changes memory, not the result.
        learning_rate: a number, or a function of the optimiser step.
        restart: reset the optimiser's state and renew the reference before the first step. False continues the previous
            stage.
        optional: True: without training tokens, such as without a success of the policy, the stage does nothing.

    Returns:
        A stage: metrics of each optimiser step, with "lessons", the number of trajectories, and "lessons/calling" and
        "lessons/direct", the shares with and without a call.

    Raises:
        InputError: no trajectory has a training token, and `optional` is False.
    """
    about = describe(locals())

    def stage(site: StageContext) -> list[dict[str, float]]:
        chosen = [
            _lesson(one, i)
            for one in live(apply_selector(select, source(site)))
            for i, trajectory in enumerate(one.group)
            if one.trained[i] and trajectory.num_tokens
        ]
        if not chosen and optional:
            return []
        if not chosen:
            raise InputError("there is nothing to fine-tune on: no trajectory holds a token that a policy wrote")
        pieces = [
            partial(_pieces, site.engine, chosen, index, micro_batch_rows)
            for index in in_batches(len(chosen), batch_size, epochs, site.seed)
        ]
        rate, facts = learning_rate, _facts(chosen)
        return run_steps(
            site, loss, pieces, learning_rate=rate, title="teach", about=about, restart_first=restart, facts=facts
        )

    return stage


def _facts(chosen: Sequence[RatedGroup]) -> dict[str, float]:
    calling = sum(bool(one.group[0].calls) for one in chosen) / len(chosen)
    return {"lessons": float(len(chosen)), "lessons/calling": calling, "lessons/direct": 1.0 - calling}


def _lesson(one: RatedGroup, i: int) -> RatedGroup:
    lesson, trains = as_rated([one.group[i]]), one.advantages.trains
    if trains is None:
        return lesson
    tokens = tuple(np.where(kept, adv, 0.0) for adv, kept in zip(lesson.advantages.tokens[0], trains[i], strict=True))
    return replace(lesson, advantages=Advantages((tokens,), trains=(trains[i],)))


def _pieces(engine: Engine, chosen: Sequence[RatedGroup], index: np.ndarray, rows: int) -> list[Batch]:
    return microbatches(supervised_batch([chosen[i] for i in index], engine), rows)
