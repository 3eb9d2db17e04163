"""Preference training on pairs of trajectories, with a pairwise loss such as DPO's."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from handaxe.core.batch import Batch
from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine, Loss, Pairs, Source, Stage, StageContext
from handaxe.core.records import Pair
from handaxe.training.loop.describe import describe
from handaxe.training.sft.supervised import as_rated, batch_of, in_batches, pair_pieces, run_steps

__all__ = ["prefer"]


def prefer(
    *,
    source: Source,
    pairs: Pairs,
    loss: Loss,
    reference: bool = True,
    epochs: int = 1,
    batch_size: int = 16,
    micro_batch_rows: int = 64,
    learning_rate: float | Callable[[int], float] = 1e-4,
    optional: bool = False,
) -> Stage:
    """Make a stage that makes the first trajectory of each pair more likely than the second.

    It restarts first: the reference is the policy as the stage before left it. The batch holds the chosen trajectory of
    pair k as rollout 2k (`batch.rollout_B`) and the rejected one as rollout 2k + 1, each with a row for every sequence;
    a micro-batch never parts them. Tokens that train are those the policy wrote; logits are read at temperature 1.

    Args:
        source: of groups; see training.stages.sources.
        pairs: which pairs come of them; see the folder pairs. Ties (strength 0) are left out.
        loss: a pairwise loss, such as `losses.dpo`. `extras["strength"]` [B, T] holds the strength of each row's pair.
        reference: put the reference model's log-probs into extras as "ref_logp"; False for losses without one.
        epochs: passes over the pairs, each in an order of its own.
        batch_size: pairs an optimiser step.
        micro_batch_rows: rows in one forward and backward; more only where a single pair has more.
        learning_rate: a number, or a function of the optimiser step.
        optional: where there is no pair, such as among attempts that all earned the same, learn nothing.

    Returns:
        A stage: metrics of each optimiser step.

    Raises:
        InputError: when there is no pair, unless it is `optional`, or a trajectory of one holds no token that a policy
            wrote.
    """
    about = describe(locals())

    def stage(site: StageContext) -> list[dict[str, float]]:
        chosen = [pair for pair in pairs(source(site)) if pair.strength > 0]
        if not chosen and optional:
            return []
        if not chosen:
            raise InputError("there is no pair to learn from")
        for one in (trajectory for pair in chosen for trajectory in (pair.chosen, pair.rejected)):
            if not one.num_tokens:
                raise InputError(f"trajectory {one.id!r} holds no token that a policy wrote: no pair can be made of it")
        pieces = [
            partial(_pieces, site.engine, chosen, index, micro_batch_rows, reference)
            for index in in_batches(len(chosen), batch_size, epochs, site.seed)
        ]
        return run_steps(site, loss, pieces, learning_rate=learning_rate, title="prefer", about=about, anew=True)

    return stage


def _pieces(engine: Engine, pairs: Sequence[Pair], index: np.ndarray, rows: int, reference: bool) -> list[Batch]:
    batch = batch_of([as_rated([pairs[i].chosen, pairs[i].rejected]) for i in index], engine)
    strength_P = torch.tensor([pairs[i].strength for i in index], dtype=batch.adv_BT.dtype)
    extras = {"strength": strength_P[batch.rollout_B // 2][:, None].expand_as(batch.adv_BT).contiguous()}
    if reference:
        extras["ref_logp"] = engine.forward(batch, reference=True, names=("logp",))["logp"]
    batch = replace(batch, extras={**batch.extras, **extras})
    return pair_pieces(batch, rows)
