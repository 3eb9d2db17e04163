"""Preference training on pairs of trajectories, with a pairwise loss such as DPO's."""

from collections.abc import Callable
from collections.abc import Sequence as List
from dataclasses import replace
from functools import partial

import numpy as np

from handaxe.errors import InputError
from handaxe.records import Trajectory
from handaxe.slots import Engine, Loss
from handaxe.tensors import Batch
from handaxe.training.stage import batch_of, run_stage, shuffled

__all__ = ["Pair", "preference"]

Pair = tuple[Trajectory, Trajectory]


def preference(
    engine: Engine,
    pairs: List[Pair],
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

    The batch holds the chosen trajectory of pair k in row 2k and the rejected one in row 2k + 1, and a micro-batch
    never parts them. Tokens that train are those the policy wrote; logits are read at temperature 1.

    Args:
        pairs: (chosen, rejected); each of one sequence with at least one token that a policy wrote.
        loss: a pairwise loss, such as `losses.dpo`.
        reference: put the reference model's log-probs into extras as "ref_logp"; False for losses without one.
        epochs: passes over the pairs, each in an order of its own.
        batch_size: pairs an optimiser step.
        micro_batch_rows: rows in one forward and backward, at least 2.
        learning_rate: a number, or a function of the optimiser step.
        seed: of the order.

    Returns:
        Metrics of each optimiser step.

    Raises:
        InputError: when there is no pair, or a trajectory of one has not exactly one sequence, or no token to train.
    """
    if not pairs or micro_batch_rows < 2:
        raise InputError("preference training needs at least one pair, and micro-batches of at least 2 rows")
    for one in (trajectory for pair in pairs for trajectory in pair):
        if len(one.sequences) != 1 or not one.num_tokens:
            raise InputError(
                f"trajectory {one.id!r} has {len(one.sequences)} sequences and {one.num_tokens} sampled tokens; "
                "a pair compares trajectories of one sequence with at least one sampled token"
            )
    steps = [
        partial(_pieces, engine, pairs, index, micro_batch_rows, reference)
        for index in shuffled(len(pairs), batch_size, epochs, seed)
    ]
    return run_stage(engine, loss, steps, learning_rate=learning_rate, progress=progress, title="preference")


def _pieces(engine: Engine, pairs: List[Pair], index: np.ndarray, rows: int, reference: bool) -> list[Batch]:
    batch = batch_of([pairs[i] for i in index], engine)
    if reference:
        ref_logp_BT = engine.forward(batch, reference=True, names=("logp",))["logp"]
        batch = replace(batch, extras={**batch.extras, "ref_logp": ref_logp_BT})
    size = rows // 2 * 2
    return [batch.rows(slice(i, i + size)) for i in range(0, len(batch), size)]
