"""Optimiser steps on rated groups: epochs, minibatches of one optimiser step each, micro-batches."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.batch import Batch, combine_metrics
from handaxe.core.protocols import Engine, Loss
from handaxe.core.records import RatedGroup
from handaxe.training.loop.batch import make_batch, microbatches, minibatches
from handaxe.training.loop.config import Updates

__all__ = ["UpdateResult", "mean_metrics", "optimiser_step", "update"]

Moved = dict[str, tuple[np.ndarray, ...]]


class UpdateResult(NamedTuple):
    """Result of the optimiser steps of a training step.

    metrics  averaged over the optimiser steps, with optimiser_steps and nothing_to_train
    moved    per rollout in the batch and sequence [T] bool: tokens whose log-prob the loss moved in any optimiser step
    """

    metrics: dict[str, float]
    moved: Moved


def update(
    engine: Engine,
    loss: Loss,
    rated: Sequence[RatedGroup],
    *,
    updates: Updates,
    learning_rate: float,
    rng: np.random.Generator,
    step: int | None = None,
) -> UpdateResult:
    """Take `epochs` times `minibatches` optimiser steps on the selected groups.

    Groups of a lower `RatedGroup.part` take all their steps before groups of a higher part.

    Args:
        updates: sizes; see `Updates`.
        rng: shuffles rollouts into minibatches.
        step: training step, from 0; before `Updates.critic_warmup` only the critic learns. None for a later step.

    Returns:
        Metrics and moved tokens. Without a token to train, nothing_to_train is 1 and the weights stay as they are.
    """
    groups = [one for one in rated if _trains(one)]
    if not groups:
        return UpdateResult({"nothing_to_train": 1.0, "optimiser_steps": 0.0}, {})
    parts = sorted({one.part for one in groups}) if updates.epochs else []
    moved: Moved = {}
    batches = []
    for part in parts:
        own = [one for one in groups if one.part == part]
        batches.append((make_batch(own, pad_id=engine.pad_id), _rows(own, moved)))
    steps = (
        (piece, rows)
        for batch, rows in batches
        for _ in range(updates.epochs)
        for piece in minibatches(batch, updates.minibatches, rng)
    )
    taken: list[dict[str, float]] = []
    critic_rate, critic_only = updates.critic_rate, step is not None and step < updates.critic_warmup
    if critic_only:
        critic_rate, learning_rate = learning_rate if critic_rate is None else critic_rate, 0.0
    for batch, rows in steps:
        pieces = microbatches(batch, updates.micro_batch_rows)
        moves = None if critic_only else rows
        taken.append(optimiser_step(engine, loss, pieces, learning_rate, rows=moves, critic_rate=critic_rate))
        if updates.early_stop is not None and updates.early_stop(taken[-1]):
            break
    return UpdateResult({**mean_metrics(taken), "nothing_to_train": 0.0, "optimiser_steps": float(len(taken))}, moved)


def _trains(one: RatedGroup) -> bool:
    return any(mask_T.any() for i in range(len(one.group)) for mask_T in one.training_mask(i))


Rows = Mapping[int, Sequence[np.ndarray]]
"""Rollout index of a batch -> `moved` [T] of its rows, in order."""


def _rows(rated: Sequence[RatedGroup], moved: Moved) -> Rows:
    """Arrays of `moved` by row, in the rollout numbering of `make_batch`."""
    rows: dict[int, list[np.ndarray]] = {}
    for one in rated:
        for i in np.flatnonzero(one.trained):
            trajectory, masks = one.group[int(i)], one.training_mask(int(i))
            own = moved.setdefault(trajectory.id, tuple(np.zeros(len(s), bool) for s in trajectory.sequences))
            rows[len(rows)] = [own[s] for s, mask_T in enumerate(masks) if mask_T.any()]
    return rows


def optimiser_step(
    engine: Engine,
    loss: Loss,
    pieces: list[Batch],
    learning_rate: float,
    *,
    rows: Rows | None = None,
    critic_rate: float | None = None,
) -> dict[str, float]:
    """Take one step along the summed gradient of all pieces.

    Args:
        rows: arrays to set True at each token that the loss moved; None measures nothing.
        critic_rate: learning rate of the critic; None for `learning_rate`.

    Returns:
        Metrics "loss", "loss/..." of the loss, and the engine's metrics.
    """
    found = []
    for piece in pieces:
        out = engine.forward_backward(piece, loss)
        found.append({"loss": float(out.value)} | {f"loss/{name}": value for name, value in out.metrics.items()})
        if rows is not None and out.moved_BT is not None:
            _mark(out.moved_BT.cpu().numpy(), piece, rows)
    if critic_rate is None:
        return combine_metrics(list(found)) | engine.optim_step(learning_rate=learning_rate)
    return combine_metrics(list(found)) | engine.optim_step(learning_rate=learning_rate, critic_rate=critic_rate)


def _mark(moved_BT: np.ndarray, batch: Batch, rows: Rows) -> None:
    seen = Counter[int]()
    for row, rollout in enumerate(batch.rollout_B.tolist()):
        own_T = rows[rollout][seen[rollout]]
        own_T |= moved_BT[row, : len(own_T)]
        seen[rollout] += 1


def mean_metrics(steps: list[dict[str, float]]) -> dict[str, float]:
    """Average metrics over optimiser steps; maxima for names ending in `_max`."""
    names = dict.fromkeys(name for step in steps for name in step)
    values = {name: [step[name] for step in steps if name in step] for name in names}
    return {name: float(max(v) if name.endswith("_max") else np.mean(v)) for name, v in values.items()}
