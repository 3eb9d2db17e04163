"""Data between batch, loss and engine: padded tensors with all inputs of a loss.

Alignment: position t of every [B, T] tensor belongs to token t; log-probs condition on all tokens before t, so
column 0 never counts. Rows are right-padded. Denominators are global over the optimiser step: a loss sums over
its rows and divides by them, so micro-batches add up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

    from handaxe.core.images import Image

__all__ = ["Batch", "CHANNEL", "Denominators", "LossOut", "PolicyOut", "combine_metrics"]

CHANNEL = "advantage/"
"""Prefix of the names of additional advantages in `Batch.extras`."""


class Denominators(NamedTuple):
    """Counts over the whole optimiser step, of trained tokens and rollouts only.

    tokens: trained tokens. rollouts: logical rollouts (a trajectory counts once, with any number of rows).
    turns: trained turns. groups: groups with at least one trained rollout. positive: trained tokens with an
    advantage > 0.
    """

    tokens: float
    rollouts: float
    turns: float
    groups: float
    positive: float


@dataclass(frozen=True, eq=False)
class Batch:
    """One padded batch of B sequences (rows).

    ids_BT            int64, right-padded with the pad id
    attend_BT         bool, False on padding
    mask_BT           bool, True on training tokens
    adv_BT            float, advantage; 0 off the mask
    old_logp_BT       float, log-prob under the ratio's old policy (trainer's or sampler's)
    behaviour_logp_BT float, log-prob under the exact sampling distribution
    turn_BT           int64, turn index of the token; -1 before the first turn
    group_B           int64, group index within the optimiser step
    rollout_B         int64, logical rollout index within the optimiser step; rows of one trajectory share it
    rollout_tokens_B  float, trained tokens of the row's whole rollout (all its rows)
    rollout_turns_B   float, turns with a trained token in the row's whole rollout
    temperature_B     float, divisor of logits before the softmax
    extras            named [B, T] tensors: ref_logp, value, returns, entropy, ...; names that begin with CHANNEL hold
        the
                      additional advantages of `Advantages.channels`
    channels          per such channel, counts over the rollouts with a nonzero value in it
    images            every distinct image of the image tokens in the rows, and possibly others; not aligned with rows
    """

    ids_BT: Tensor
    attend_BT: Tensor
    mask_BT: Tensor
    adv_BT: Tensor
    old_logp_BT: Tensor
    behaviour_logp_BT: Tensor
    turn_BT: Tensor
    group_B: Tensor
    rollout_B: Tensor
    rollout_tokens_B: Tensor
    rollout_turns_B: Tensor
    temperature_B: Tensor
    denominators: Denominators
    extras: Mapping[str, Tensor] = field(default_factory=dict)
    channels: Mapping[str, Denominators] = field(default_factory=dict)
    images: tuple[Image, ...] = ()

    def __len__(self) -> int:
        return int(self.ids_BT.shape[0])

    def map(self, change: Callable[[Tensor], Tensor]) -> Batch:
        """Return the batch with `change` applied to every tensor; all denominators stay."""
        names = [f.name for f in fields(self) if f.name not in ("denominators", "extras", "channels", "images")]
        extras = {name: change(tensor) for name, tensor in self.extras.items()}
        parts = {name: change(self.__dict__[name]) for name in names}
        return Batch(**parts, denominators=self.denominators, extras=extras, channels=self.channels, images=self.images)

    def rows(self, index: Tensor | slice) -> Batch:
        """Return the chosen rows, cut to their longest row; denominators stay global."""
        chosen = self.map(lambda tensor: tensor[index])
        length = int(chosen.attend_BT.sum(1).max()) if len(chosen) else 0
        return chosen.map(lambda tensor: tensor[:, :length] if tensor.ndim == 2 else tensor)


@dataclass(frozen=True, eq=False)
class PolicyOut:
    """Model outputs on a batch, with gradient.

    Every tensor holds values at training tokens (`Batch.mask_BT`) and may be 0 elsewhere.

    logp_BT [B, T] log-prob of each token under softmax(logits / temperature), 0 in column 0.
    entropy() -> [B, T] entropy in nats of each token's distribution (computed when called).
    value_BT [B, T] or None: the critic's value of the state before token t.
    heads {name: [B, T, K]}: scores of the engine's heads (`core.heads.Head`).
    """

    logp_BT: Tensor
    entropy: Callable[[], Tensor]
    value_BT: Tensor | None = None
    heads: Mapping[str, Tensor] = field(default_factory=dict)


class LossOut(NamedTuple):
    """Scalar loss to minimise, with gradient, and its metrics.

    Metrics are already divided by global denominators, so metrics of micro-batches add up; names that end in `_max` are
    combined by maximum instead. `moved_BT` bool: tokens of the mask with nonzero d value / d logp. An engine fills it;
    None: unknown.
    """

    value: Tensor
    metrics: dict[str, float]
    moved_BT: Tensor | None = None


def combine_metrics(parts: list[Mapping[str, float]]) -> dict[str, float]:
    """Combine metrics of micro-batches: sums, and maxima for names that end in `_max`."""
    whole: dict[str, float] = {}
    for part in parts:
        for name, value in part.items():
            old = whole.get(name)
            whole[name] = value if old is None else max(old, value) if name.endswith("_max") else old + value
    return whole
