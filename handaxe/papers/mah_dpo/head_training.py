"""Preference training in which each pair reaches one head alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from handaxe.core.batch import Batch, LossOut, PolicyOut, combine_metrics
from handaxe.core.errors import InputError
from handaxe.core.protocols import Loss
from handaxe.core.records import Pair
from handaxe.ops.seeds import derive_seed
from handaxe.training.sft.supervised import as_rated, in_batches, supervised_batch

if TYPE_CHECKING:
    from handaxe.engines.local.engine import LocalEngine
    from handaxe.papers.mah_dpo.many_heads import HeadMix

__all__ = ["HeadPair", "head_batches", "head_step", "train_heads"]


class HeadPair(NamedTuple):
    """A preference, and the number of the head that learns it."""

    pair: Pair
    head: int


def head_batches(engine: LocalEngine, mix: HeadMix, pairs: Sequence[HeadPair]) -> dict[int, Batch]:
    """Batch the pairs of each head, with the head's reference log-probs as extras["ref_logp"].

    Rollouts 2k and 2k + 1 of a batch are the chosen and rejected side of the k-th pair of its head, and denominators
    count the pairs of that head.

    Raises:
        InputError: no pair, or a pair of a head that the model lacks.
    """
    count = len(mix.weights)
    if missing := sorted({one.head for one in pairs} - set(range(count))):
        raise InputError(f"pairs name the heads {missing}, but the model has heads 0 to {count - 1}")
    if not pairs:
        raise InputError("there is no pair to train on: give at least one")
    batches = dict[int, Batch]()
    for head in sorted({one.head for one in pairs}):
        own = [as_rated([one.pair.chosen, one.pair.rejected]) for one in pairs if one.head == head]
        batch = supervised_batch(own, engine)
        with mix.only(head):
            reference = engine.forward(batch, reference=True, names=("logp",))["logp"]
        batches[head] = replace(batch, extras={**batch.extras, "ref_logp": reference})
    return batches


def head_step(
    engine: LocalEngine, mix: HeadMix, batches: Mapping[int, Batch], loss: Loss, *, learning_rate: float
) -> dict[str, float]:
    """Take an optimizer step along the mean of the losses of the heads, each under the logits of a single head.

        L = 1 / |S| sum_{h in S} L_h          S: heads with a pair in the step

    L_h reads log-probs of head h, so the gradient of L_h reaches the trunk and W_h, and no other head.

    Args:
        batches: by head, of `head_batches`.
        loss: of the pairs of a head, such as `losses.dpo`, which is their mean.
        learning_rate: of AdamW.

    Returns:
        Metrics of the step: loss (the mean over heads), the metrics of head h as h/NAME, and those of the engine.

    Example:
        margin 1.5 of head 0 and 0 of head 1, beta 0.1  ->  (0.6210 + 0.6931) / 2 = 0.6571

    Paper: arXiv:2510.01167 (MAH-DPO), released code (mahdpo_trainers.py).
    Differs: nothing.
    """
    share = 1.0 / len(batches)
    found = list[Mapping[str, float]]()
    for head, batch in batches.items():
        with mix.only(head):
            out = engine.forward_backward(batch, _scaled(loss, share))
        found.append({"loss": float(out.value)} | {f"{head}/{name}": value for name, value in out.metrics.items()})
    return combine_metrics(found) | engine.optim_step(learning_rate=learning_rate)


def train_heads(
    engine: LocalEngine,
    mix: HeadMix,
    pairs: Sequence[HeadPair],
    loss: Loss,
    *,
    epochs: int = 2,
    batch_size: int = 32,
    learning_rate: float = 1e-4,
    seed: int = 0,
) -> list[dict[str, float]]:
    """Train on mixed pairs in random order.

    Args:
        engine: of the model of `mix`, with reference=True.
        epochs: passes over the pairs; 2 in the paper.
        batch_size: pairs of an optimizer step, of all heads together; 32 in the paper.
        learning_rate: of AdamW; 1e-6 in the paper.
        seed: of the order.

    Returns:
        Metrics of each step, see `head_step`.

    Raises:
        InputError: no pair, a pair of a head that the model lacks, or sizes out of range.

    Example:
        40 pairs, 2 epochs, batches of 32  ->  4 steps

    Paper: arXiv:2510.01167 (MAH-DPO), released code (mahdpo_trainers.py).
    Differs: the learning rate, for a policy of 0.85M parameters.
    """
    taken = []
    for index in in_batches(len(pairs), batch_size, epochs, derive_seed("train_heads", seed)):
        batches = head_batches(engine, mix, [pairs[i] for i in index])
        taken.append(head_step(engine, mix, batches, loss, learning_rate=learning_rate))
    return taken


def _scaled(loss: Loss, share: float) -> Loss:
    def scaled(out: PolicyOut, batch: Batch) -> LossOut:
        found = loss(out, batch)
        return LossOut(share * found.value, found.metrics)

    return scaled
