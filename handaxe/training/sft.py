"""Supervised fine-tuning on trajectories, through the batch and the masks of reinforcement learning."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from handaxe.errors import InputError
from handaxe.losses.cross_entropy import cross_entropy
from handaxe.records import Trajectory
from handaxe.slots import Engine, Loss
from handaxe.tensors import Batch
from handaxe.training.batch import microbatches
from handaxe.training.stage import batch_of, run_stage, shuffled

__all__ = ["sft"]

CROSS_ENTROPY = cross_entropy()


def sft(
    engine: Engine,
    trajectories: Sequence[Trajectory],
    *,
    loss: Loss = CROSS_ENTROPY,
    epochs: int = 1,
    batch_size: int = 32,
    micro_batch_rows: int = 64,
    learning_rate: float | Callable[[int], float] = 1e-3,
    seed: int = 0,
    progress: bool = True,
) -> list[dict[str, float]]:
    """Make what the policy wrote in these trajectories more likely.

    The tokens that train are those a policy wrote, and no other: ids and mask of a rollout are the same here as in
    reinforcement learning. Logits are read at temperature 1, whatever they were sampled at.

    Args:
        trajectories: of a run record, or of conversations by `trajectory_from_messages`.
        loss: (PolicyOut, Batch) -> LossOut; every trained token has advantage 1.
        epochs: passes over the trajectories, each in an order of its own.
        batch_size: trajectories an optimiser step; the last one of an epoch may have fewer.
        micro_batch_rows: rows in one forward and backward; changes memory, not the result.
        learning_rate: a number, or a function of the optimiser step.
        seed: of the order.

    Returns:
        Metrics of each optimiser step.

    Raises:
        InputError: when there is no trajectory with a token to learn.
    """
    chosen = [trajectory for trajectory in trajectories if trajectory.num_tokens]
    if not chosen:
        raise InputError("there is nothing to fine-tune on: no trajectory holds a token that a policy wrote")
    steps = [
        partial(_pieces, engine, chosen, index, micro_batch_rows)
        for index in shuffled(len(chosen), batch_size, epochs, seed)
    ]
    return run_stage(engine, loss, steps, learning_rate=learning_rate, progress=progress, title="sft")


def _pieces(engine: Engine, chosen: Sequence[Trajectory], index: np.ndarray, rows: int) -> list[Batch]:
    return microbatches(batch_of([[chosen[i]] for i in index], engine), rows)
