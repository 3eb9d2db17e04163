"""Padding of rated groups to tensors, in one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from handaxe.core.batch import CHANNEL, Batch, Denominators
from handaxe.core.deferred import torch
from handaxe.core.errors import InputError, TrainingError
from handaxe.core.images import Image, unique_images
from handaxe.core.records import RatedGroup, TokenSequence, Trajectory
from handaxe.training.loop.denominators import add_denominators

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Row", "make_batch", "microbatches", "minibatches", "pad", "temperature"]


class Row(NamedTuple):
    """One sequence of a batch. adv [T]; returns [T] or None; temperature divides the logits; mask [T] bool marks
    training tokens, None: the sequence's own mask; channels are additional advantages [T] by name; images are those of
    the sequence's image tokens, and possibly others.
    """

    sequence: TokenSequence
    adv: np.ndarray
    group: int
    rollout: int
    temperature: float = 1.0
    returns: np.ndarray | None = None
    mask: np.ndarray | None = None
    channels: Mapping[str, np.ndarray] = MappingProxyType({})
    images: tuple[Image, ...] = ()


def make_batch(
    rated: Sequence[RatedGroup], *, pad_id: int, dtype: torch.dtype | None = None, compares: bool = True
) -> Batch:
    """Make one batch of all sequences with training tokens; a row is a sequence.

    Args:
        rated: groups with their advantages. Trajectories outside `trained` and tokens outside `Advantages.trains` are
            left out, also of denominators.
        pad_id: fills rows up to the longest.
        dtype: of the floating tensors; None for float32.
        compares: True if the loss reads old log-probs. False, as for cross-entropy, accepts FORCED tokens without
            old_logp.

    Raises:
        TrainingError: no token trains.
        InputError: FORCED tokens train, but have no measured log-prob under the policy.
    """
    rows = []
    rollout = 0
    for g, one in enumerate(rated):
        returns = one.advantages.returns
        for i, trajectory in enumerate(one.group):
            if not one.trained[i]:
                continue
            masks = one.training_mask(i)
            for s, sequence in enumerate(trajectory.sequences):
                if masks[s].any():
                    if compares:
                        _check_forced(trajectory, sequence, masks[s])
                    target = None if returns is None else returns[i][s]
                    adv = np.where(masks[s], one.advantages.tokens[i][s], 0.0)
                    more = {
                        name: np.where(masks[s], ragged[i][s], 0.0) for name, ragged in one.advantages.channels.items()
                    }
                    images = trajectory.images
                    rows.append(Row(sequence, adv, g, rollout, temperature(trajectory), target, masks[s], more, images))
            rollout += 1
    if not rows:
        raise TrainingError("there is nothing to train on: every trajectory was left out by selection or has no token")
    return pad(rows, pad_id=pad_id, dtype=dtype)


def _check_forced(trajectory: Trajectory, sequence: TokenSequence, mask: np.ndarray) -> None:
    if "old_logp" not in sequence.features and (mask & sequence.forced).any():
        raise InputError(
            f"trajectory {trajectory.id!r} holds FORCED tokens that are to train, and no old_logp: their own log-prob "
            'is unknown, since the policy did not draw them. Pass annotate=("old_logp",) to train'
        )


def temperature(trajectory: Trajectory) -> float:
    """Divisor of the trajectory's logits; 1 for greedy sampling, which has no distribution to train."""
    return (trajectory.turns[0].sampling.temperature or 1.0) if trajectory.turns else 1.0


def pad(rows: Sequence[Row], *, pad_id: int, dtype: torch.dtype | None = None) -> Batch:
    """Pad rows on the right into one batch and count its denominators."""
    real = dtype or torch.float32
    length = max(len(row.sequence) for row in rows)

    def floats(arrays: Sequence[np.ndarray]) -> Tensor:
        return torch.tensor(np.stack([_fill(a, length, 0.0, np.float64) for a in arrays])).to(real)

    def integers(arrays: Sequence[np.ndarray], fill: int) -> Tensor:
        return torch.tensor(np.stack([_fill(a, length, fill, np.int64) for a in arrays]))

    sequences = [row.sequence for row in rows]
    mask_BT = integers([row.sequence.mask if row.mask is None else row.mask for row in rows], 0).bool()
    names = set.intersection(*[set(s.features) for s in sequences])
    extras = {name: floats([s.features[name] for s in sequences]) for name in sorted(names)}
    for name in sorted({name for row in rows for name in row.channels}):  # 0 in rows without this channel
        extras[CHANNEL + name] = floats([row.channels.get(name, np.zeros(len(row.sequence))) for row in rows])
    if all(row.returns is not None for row in rows):
        extras["returns"] = floats([row.returns for row in rows if row.returns is not None])
    batch = Batch(
        ids_BT=integers([s.ids for s in sequences], pad_id),
        attend_BT=integers([np.ones(len(s)) for s in sequences], 0).bool(),
        mask_BT=mask_BT,
        adv_BT=floats([row.adv for row in rows]),
        old_logp_BT=floats([s.features.get("old_logp", s.logp) for s in sequences]),
        behaviour_logp_BT=floats([s.behaviour_logp for s in sequences]),
        turn_BT=integers([s.turn for s in sequences], -1),
        group_B=torch.tensor([row.group for row in rows]),
        rollout_B=torch.tensor([row.rollout for row in rows]),
        rollout_tokens_B=torch.zeros(len(rows), dtype=real),
        rollout_turns_B=torch.zeros(len(rows), dtype=real),
        temperature_B=torch.tensor([row.temperature for row in rows], dtype=real),
        denominators=Denominators(0, 0, 0, 0, 0),
        extras=extras,
        images=unique_images(image for row in rows for image in row.images),
    )
    return add_denominators(batch)


def minibatches(batch: Batch, parts: int, rng: np.random.Generator) -> list[Batch]:
    """Split the rollouts at random into `parts` batches of one optimiser step each, with separate denominators.

    Rows of one rollout stay together. Fewer rollouts than `parts` give fewer batches; one part is the whole batch.
    """
    rollouts = batch.rollout_B.unique().numpy()
    if parts <= 1:
        return [batch]
    chosen = np.array_split(rng.permutation(rollouts), min(parts, len(rollouts)))
    return [add_denominators(batch.rows(torch.isin(batch.rollout_B, torch.tensor(part)))) for part in chosen]


def microbatches(batch: Batch, rows: int) -> list[Batch]:
    """Split into pieces of about `rows` rows, siblings together; denominators stay global.

    A group's rows share prefixes, which an engine with tree attention computes once per piece. Only a group of more
    than `rows` rows is split, into parts of about equal size with maximal sharing; groups of similar length go
    together. Rows of one rollout stay in one piece, since a ratio or a sum over a rollout needs all of them; a piece
    exceeds `rows` only for a single rollout.
    """
    length_B = batch.attend_BT.sum(1).tolist()
    groups: dict[int, dict[int, list[int]]] = {}
    for row, (group, rollout) in enumerate(zip(batch.group_B.tolist(), batch.rollout_B.tolist())):
        groups.setdefault(group, {}).setdefault(rollout, []).append(row)
    pieces: list[list[int]] = [[]]
    for group in sorted(
        groups.values(), key=lambda rollouts: max(length_B[i] for one in rollouts.values() for i in one)
    ):
        size = sum(map(len, group.values()))
        part = -(-size // -(-size // rows))
        if pieces[-1] and len(pieces[-1]) + part > rows:
            pieces.append([])
        begun = 0
        for chosen in _alike(batch, list(group.values()), length_B):
            # A full part ends its piece; remaining rows may share a piece with another group.
            if begun and begun + len(chosen) > part:
                pieces.append([])
                begun = 0
            pieces[-1] += chosen
            begun += len(chosen)
    return [batch.rows(torch.tensor(piece)) for piece in pieces]


def _alike(batch: Batch, rollouts: list[list[int]], length_B: list[int]) -> list[list[int]]:
    """Sort rollouts by their first row's ids, so that shared prefixes are adjacent."""
    ids_BT = batch.ids_BT.cpu().numpy().astype(">i8")  # big-endian bytes sort like the numbers
    return sorted(rollouts, key=lambda rows: ids_BT[rows[0], : length_B[rows[0]]].tobytes())


def _fill(array: np.ndarray, length: int, value: float, dtype: type) -> np.ndarray:
    out: np.ndarray = np.full(length, value, dtype)
    out[: len(array)] = array
    return out
