"""Preference training on pairs of trajectories, with a pairwise loss such as DPO's."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from handaxe.core.batch import Batch
from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine, Loss, Pairs, Source, Stage, StageContext
from handaxe.core.records import Pair
from handaxe.training.loop.describe import describe
from handaxe.training.sft.supervised import as_rated, in_batches, pair_pieces, run_steps, supervised_batch

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
    """Make a stage that trains a pairwise loss on the chosen and rejected trajectories of a source.

    The stage restarts the reference at its beginning: the policy as the stage before left it. The batch holds the
    chosen trajectory of pair k as rollout 2k (`batch.rollout_B`) and the rejected one as rollout 2k + 1, each with a
    row for every sequence; a pair stays in one micro-batch. Tokens of the policy train; logits are at temperature 1.

    Args:
        source: of groups; see training.stages.sources.
        pairs: groups -> pairs, such as `best_against_worst`. Ties (strength 0) are left out.
        loss: a pairwise loss, such as `losses.dpo`. `extras["strength"]` [B, T] holds the strength of each row's pair.
        reference: put the reference model's log-probs into extras as "ref_logp"; False for losses without one.
        epochs: passes over the pairs, each in another order.
        batch_size: pairs an optimizer step.
        micro_batch_rows: rows in one forward and backward pass; more only if a single pair has more.
        learning_rate: a number, or a function of the optimizer step.
        optional: without a pair, such as among rollouts of equal reward, learn nothing.

    Returns:
        A stage: metrics of each optimizer step, with "pairs", the number of pairs, and "pairs/strength", their mean.

    Raises:
        InputError: there is no pair, unless `optional`, or a trajectory of a pair has no token of the policy.

    Example:
        5 pairs, batch_size 3, epochs 8  ->  16 optimizer steps; the loss of DPO starts at log 2 = 0.6931

    Paper: arXiv:2505.16410 (Tool-Star), DPO on the policy's own rollouts; 3 epochs in the paper.
    Differs: all weights train, where the paper trains a LoRA of rank 8.
    """
    about = describe(locals())

    def stage(site: StageContext) -> list[dict[str, float]]:
        chosen = [pair for pair in pairs(source(site)) if pair.strength > 0]
        if not chosen and optional:
            return []
        if not chosen:
            raise InputError("there is no pair to train on")
        for one in (trajectory for pair in chosen for trajectory in (pair.chosen, pair.rejected)):
            if not one.num_tokens:
                raise InputError(f"trajectory {one.id!r} has no token of a policy: it cannot be in a pair")
        pieces = [
            partial(_pieces, site.engine, chosen, index, micro_batch_rows, reference)
            for index in in_batches(len(chosen), batch_size, epochs, site.seed)
        ]
        rate, facts = learning_rate, _facts(chosen)
        return run_steps(
            site, loss, pieces, learning_rate=rate, title="prefer", about=about, restart_first=True, facts=facts
        )

    return stage


def _facts(pairs: Sequence[Pair]) -> dict[str, float]:
    return {"pairs": float(len(pairs)), "pairs/strength": sum(one.strength for one in pairs) / len(pairs)}


def _pieces(engine: Engine, pairs: Sequence[Pair], index: np.ndarray, rows: int, reference: bool) -> list[Batch]:
    batch = supervised_batch([as_rated([pairs[i].chosen, pairs[i].rejected]) for i in index], engine)
    strength_P = torch.tensor([pairs[i].strength for i in index], dtype=batch.adv_BT.dtype)
    extras = {"strength": strength_P[batch.rollout_B // 2][:, None].expand_as(batch.adv_BT).contiguous()}
    if reference:
        extras["ref_logp"] = engine.forward(batch, reference=True, names=("logp",))["logp"]
    batch = replace(batch, extras={**batch.extras, **extras})
    return pair_pieces(batch, rows)
