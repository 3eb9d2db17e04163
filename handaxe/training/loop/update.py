"""From rated groups to new weights: epochs, minibatches of one optimiser step each, micro-batches of what fits."""

from collections.abc import Callable, Mapping

import numpy as np

from handaxe.core.batch import Batch, combine_metrics
from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine, Loss
from handaxe.core.records import Rated
from handaxe.training.loop.batch import make_batch, microbatches, minibatches
from handaxe.training.loop.traced import Pushed

__all__ = ["Enough", "check_passes", "mean_metrics", "optimiser_step", "update"]

Enough = Callable[[Mapping[str, float]], bool]
"""Metrics of an optimiser step -> whether a training step has had enough of them."""


def update(
    engine: Engine,
    loss: Loss,
    rated: list[Rated],
    *,
    epochs: int,
    parts: int,
    rows: int,
    learning_rate: float,
    rng: np.random.Generator,
    pushed: Pushed | None = None,
    enough: Enough | None = None,
) -> dict[str, float]:
    """Take `epochs` times `parts` optimiser steps on what was selected.

    Groups of a lower `Rated.part` take all their steps before those of a higher one take any.

    Args:
        epochs: 0 trains nothing and leaves the weights as they are.
        parts: minibatches an epoch; each is a random subset of the rollouts with denominators of its own.
        rows: most rows that forward and backward see at once; the result does not depend on it.
        rng: shuffles rollouts into minibatches.
        pushed: is told which tokens the loss moves.
        enough: asked after each optimiser step, with its metrics; True leaves out the others.

    Returns:
        Metrics averaged over the optimiser steps, with optimiser_steps; where nothing trains, nothing_to_train is 1
        and the weights stay as they are.
    """
    groups = [one for one in rated if _trains(one)]
    if not groups:
        return {"nothing_to_train": 1.0, "optimiser_steps": 0.0}
    in_turn = sorted({one.part for one in groups}) if epochs else []
    parted = [[one for one in groups if one.part == part] for part in in_turn]
    batches = [
        (make_batch(own, pad_id=engine.pad_id), loss if pushed is None else pushed.watching(loss, own))
        for own in parted
    ]
    in_order = (
        (piece, own) for batch, own in batches for _ in range(epochs) for piece in minibatches(batch, parts, rng)
    )
    taken: list[dict[str, float]] = []
    for piece, watched in in_order:
        taken.append(optimiser_step(engine, watched, microbatches(piece, rows), learning_rate))
        if enough is not None and enough(taken[-1]):
            break
    return {**mean_metrics(taken), "nothing_to_train": 0.0, "optimiser_steps": float(len(taken))}


def _trains(one: Rated) -> bool:
    return any(mask_T.any() for i in range(len(one.group)) for mask_T in one.training_mask(i))


def check_passes(*, epochs: int, minibatches: int, micro_batch_rows: int) -> None:
    """Raise InputError for a number of passes, or a size of their parts, that cannot be."""
    if epochs < 0 or minibatches < 1 or micro_batch_rows < 1:
        raise InputError(
            f"epochs is {epochs}, minibatches {minibatches} and micro_batch_rows {micro_batch_rows}; give 0 or more "
            "epochs, where 0 trains nothing, and 1 or more of the others"
        )


def optimiser_step(engine: Engine, loss: Loss, pieces: list[Batch], learning_rate: float) -> dict[str, float]:
    """One step along the gradient of the pieces together; metrics "loss", "loss/..." of the loss, and the engine's."""
    found = []
    for piece in pieces:
        out = engine.forward_backward(piece, loss)
        found.append({"loss": float(out.value)} | {f"loss/{name}": value for name, value in out.metrics.items()})
    return combine_metrics(list(found)) | engine.optim_step(learning_rate=learning_rate)


def mean_metrics(steps: list[dict[str, float]]) -> dict[str, float]:
    """Metrics over several optimiser steps: means, and maxima for names ending in `_max`."""
    names = dict.fromkeys(name for step in steps for name in step)
    values = {name: [step[name] for step in steps if name in step] for name in names}
    return {name: float(max(v) if name.endswith("_max") else np.mean(v)) for name, v in values.items()}
