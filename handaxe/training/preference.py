"""Preference training on pairs of trajectories, with a pairwise loss such as DPO's."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from handaxe.errors import InputError
from handaxe.records import Trajectory
from handaxe.slots import Engine, Loss
from handaxe.tensors import Batch
from handaxe.training.stage import batch_of, run_stage, shuffled

__all__ = ["Pair", "preference"]

Pair = tuple[Trajectory, Trajectory]


def preference(
    engine: Engine,
    pairs: Sequence[Pair],
    *,
    loss: Loss,
    reference: bool = True,
    epochs: int = 1,
    batch_size: int = 16,
    micro_batch_rows: int = 64,
    learning_rate: float | Callable[[int], float] = 1e-4,
    seed: int = 0,
    progress: bool = True,
) -> list[dict[str, float]]:
    """Make the first trajectory of each pair more likely than the second.

    The batch holds the chosen trajectory of pair k as rollout 2k (`batch.rollout_B`) and the rejected one as rollout
    2k + 1, each with a row for every sequence; a micro-batch never parts them. Tokens that train are those the policy
    wrote; logits are read at temperature 1.

    Args:
        pairs: (chosen, rejected); each with at least one token that a policy wrote.
        loss: a pairwise loss, such as `losses.dpo`.
        reference: put the reference model's log-probs into extras as "ref_logp"; False for losses without one.
        epochs: passes over the pairs, each in an order of its own.
        batch_size: pairs an optimiser step.
        micro_batch_rows: rows in one forward and backward; more only where a single pair has more.
        learning_rate: a number, or a function of the optimiser step.
        seed: of the order.

    Returns:
        Metrics of each optimiser step.

    Raises:
        InputError: when there is no pair, or a trajectory of one holds no token that a policy wrote.
    """
    if not pairs:
        raise InputError("there is no pair to learn from")
    for one in (trajectory for pair in pairs for trajectory in pair):
        if not one.num_tokens:
            raise InputError(f"trajectory {one.id!r} holds no token that a policy wrote, so no pair can be made of it")
    steps = [
        partial(_pieces, engine, pairs, index, micro_batch_rows, reference)
        for index in shuffled(len(pairs), batch_size, epochs, seed)
    ]
    return run_stage(engine, loss, steps, learning_rate=learning_rate, progress=progress, title="preference")


def _pieces(engine: Engine, pairs: Sequence[Pair], index: np.ndarray, rows: int, reference: bool) -> list[Batch]:
    batch = batch_of([pairs[i] for i in index], engine)
    if reference:
        ref_logp_BT = engine.forward(batch, reference=True, names=("logp",))["logp"]
        batch = replace(batch, extras={**batch.extras, "ref_logp": ref_logp_BT})
    pieces: list[list[int]] = [[]]
    for pair in range(len(index)):
        both = [row for row, rollout in enumerate(batch.rollout_B.tolist()) if rollout // 2 == pair]
        if pieces[-1] and len(pieces[-1]) + len(both) > rows:
            pieces.append([])
        pieces[-1] += both
    return [batch.rows(torch.tensor(piece)) for piece in pieces]
