"""What supervised stages share: a list of trajectories as rated groups, and the loop over optimiser steps."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch

from handaxe.ops.seeds import generator
from handaxe.records import Advantages, Group, Rated, Scores, Trajectory
from handaxe.slots import Engine, Loss
from handaxe.tensors import Batch
from handaxe.training.batch import make_batch
from handaxe.training.interrupt import Interrupt
from handaxe.training.progress import Bar
from handaxe.training.schedule import rate_at
from handaxe.training.update import optimiser_step

__all__ = ["as_rated", "batch_of", "run_stage", "shuffled"]


def as_rated(trajectories: Sequence[Trajectory]) -> Rated:
    """Trajectories as one group of which every token the policy wrote has advantage 1."""
    group = Group(trajectories[0].task, tuple(trajectories))
    tokens = tuple(tuple(sequence.mask.astype(np.float64) for sequence in one.sequences) for one in trajectories)
    return Rated(group, Scores(np.ones(len(group))), Advantages(tokens), np.ones(len(group), bool))


def batch_of(groups: Sequence[Sequence[Trajectory]], engine: Engine) -> Batch:
    """The batch that reinforcement learning would make of these groups, read at temperature 1."""
    batch = make_batch([as_rated(one) for one in groups], pad_id=engine.pad_id, compares=False)
    return replace(batch, temperature_B=torch.ones_like(batch.temperature_B))


def shuffled(count: int, size: int, epochs: int, seed: int) -> Iterator[np.ndarray]:
    """Indices of each optimiser step: every epoch all of `count` in an order of its own, `size` at a time."""
    for epoch in range(epochs):
        order = generator(seed, "epoch", epoch).permutation(count)
        yield from (order[i : i + size] for i in range(0, count, size))


def run_stage(
    engine: Engine,
    loss: Loss,
    pieces: Sequence[Callable[[], list[Batch]]],
    *,
    learning_rate: float | Callable[[int], float],
    progress: bool,
    title: str,
) -> list[dict[str, float]]:
    """Take one optimiser step for each entry of `pieces`, which gives its micro-batches when called.

    Ctrl-C finishes the step at hand and returns what was done.
    """
    metrics: list[dict[str, float]] = []
    with Bar(len(pieces), enabled=progress, title=title) as bar, Interrupt() as interrupt:
        for step, make in enumerate(pieces):
            metrics.append(optimiser_step(engine, loss, make(), rate_at(learning_rate, step)))
            bar.step(metrics[-1], ("loss", "grad_norm"))
            if interrupt.asked:
                break
    return metrics
