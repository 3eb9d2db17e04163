"""Small batches by hand and random ragged batches, for checks of losses and engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from handaxe.core.batch import Batch, Denominators, PolicyOut
from handaxe.ops.seeds import generator

__all__ = ["RANDOM_HEADS", "Rows", "random_batch", "random_policy", "small_batch", "small_policy"]

VOCABULARY = 50
NAN = float("nan")
RANDOM_HEADS = {"reward": 1, "gaussian": 2}
"""Heads of `random_policy`, with their outputs."""

Rows = Sequence[Sequence[float | None]] | float
"""Ragged rows of numbers, None for a token that the policy did not sample; or one number for all trained tokens."""


def small_batch(
    adv: Sequence[Sequence[float | None]],
    *,
    old: Rows = -1.0,
    behaviour: Rows | None = None,
    turn: Rows = 0,
    rollout: Sequence[int] | None = None,
    group: Sequence[int] | None = None,
    extras: Mapping[str, Rows] | None = None,
    under_mask: float = NAN,
    dtype: torch.dtype = torch.float64,
) -> Batch:
    """Write a batch by hand. Each row gets a prompt token in front, so numbers begin at column 1.

    Args:
        adv: an advantage for each trained token, None for each other token.
        old: old log-probs.
        behaviour: log-probs of the sampler; None for the old ones.
        turn: turn indices.
        rollout: rollout of each row; None for one each.
        group: group of each row; None for the same group.
        extras: further named arrays.
        under_mask: value of floating tensors off the mask.
        dtype: of the floating tensors.

    Example:
        small_batch([[1.0, None, 1.0], [-1.0]]) has mask [[F, T, F, T], [F, T, F, F]] and counts 3 tokens, 2 rollouts
    """
    shape = len(adv), 1 + max(len(row) for row in adv)
    written, mask = np.zeros(shape, bool), np.zeros(shape, bool)
    for i, row in enumerate(adv):
        written[i, : 1 + len(row)] = True
        mask[i, 1 : 1 + len(row)] = [number is not None for number in row]

    def floats(rows: Rows) -> Tensor:
        return torch.tensor(np.where(mask, _spread(rows, shape), under_mask)).to(dtype)

    batch = Batch(
        ids_BT=torch.tensor(np.where(written, 1 + np.arange(shape[0] * shape[1]).reshape(shape) % VOCABULARY, 0)),
        attend_BT=torch.tensor(written),
        mask_BT=torch.tensor(mask),
        adv_BT=floats(adv),
        old_logp_BT=floats(old),
        behaviour_logp_BT=floats(old if behaviour is None else behaviour),
        turn_BT=torch.tensor(np.where(mask, np.nan_to_num(_spread(turn, shape)), -1).astype(np.int64)),
        group_B=torch.tensor([0] * shape[0] if group is None else list(group)),
        rollout_B=torch.arange(shape[0]) if rollout is None else torch.tensor(list(rollout)),
        rollout_tokens_B=torch.zeros(shape[0], dtype=dtype),
        rollout_turns_B=torch.zeros(shape[0], dtype=dtype),
        temperature_B=torch.ones(shape[0], dtype=dtype),
        denominators=Denominators(0.0, 0.0, 0.0, 0.0, 0.0),
        extras={name: floats(rows) for name, rows in (extras or {}).items()},
    )
    return _counted(batch)


def small_policy(
    batch: Batch,
    logp: Rows,
    *,
    entropy: Rows = 0.0,
    value: Rows = 0.0,
    heads: Mapping[str, Sequence[Rows]] | None = None,
) -> PolicyOut:
    """Write a policy by hand for a `small_batch`: leaves with gradients, NaN off the mask; rows for each output of a
    head."""

    def leaf(rows: Rows) -> Tensor:
        spread = torch.tensor(_spread(rows, tuple(batch.mask_BT.shape))).to(batch.old_logp_BT)
        return torch.where(batch.mask_BT, spread, NAN).requires_grad_()

    entropy_BT = leaf(entropy)
    scores = {
        name: torch.stack([leaf(rows).detach() for rows in outputs], dim=-1).requires_grad_()
        for name, outputs in (heads or {}).items()
    }
    return PolicyOut(leaf(logp), lambda: entropy_BT, leaf(value), scores)


def random_batch(
    seed: int,
    *,
    groups: int = 3,
    siblings: tuple[int, int] = (1, 4),
    rows: tuple[int, int] = (1, 3),
    turns: tuple[int, int] = (1, 3),
    tokens: tuple[int, int] = (1, 4),
    untrained: float = 0.15,
    left_out: float = 0.0,
    under_mask: float = 0.0,
    dtype: torch.dtype = torch.float64,
) -> Batch:
    """Draw a ragged batch of rollouts of several rows and turns. Ranges are inclusive.

    Args:
        groups: number of groups.
        siblings: rollouts in a group.
        rows: rows of a rollout.
        turns: turns in a row.
        tokens: tokens in a prompt, a turn and a tool reply.
        untrained: probability that a rollout has no trained token.
        left_out: probability that a policy token is not trained, as `Advantages.trains` may state.
        under_mask: value of floating tensors off the mask; NaN detects a loss that reads them.
        dtype: of the floating tensors.

    Returns:
        A batch with extras ref_logp, value and returns; denominators count its content. Rollouts are numbered in order,
        so with `siblings=(2, 2), untrained=0` it has the pairs that `dpo` reads.
    """
    rng = generator(seed, "random_batch")

    def between(bounds: tuple[int, int]) -> int:
        return int(rng.integers(bounds[0], bounds[1] + 1))

    built: list[tuple[list[int], int, int, float]] = []
    rollout = 0
    for group in range(groups):
        for _ in range(between(siblings)):
            trained, turn = (1.0 - left_out if rng.random() >= untrained else 0.0), 0
            for _ in range(between(rows)):
                spans = [-1] * between(tokens)
                for _ in range(between(turns)):
                    # A sampled token is its turn, a token of a tool reply -2 minus the answered turn.
                    spans += [turn] * between(tokens) + [-2 - turn] * between(tokens)
                    turn += 1
                built.append((spans, group, rollout, trained))
            rollout += 1
    return _counted(_padded(built, rng, under_mask, dtype))


def random_policy(batch: Batch, seed: int, *, drift: float = 0.3, under_mask: float = 0.0) -> PolicyOut:
    """Draw a policy near the batch's old one; log-probs, entropies, values and the scores of `RANDOM_HEADS` are leaves
    with gradients.

    Args:
        batch: with the old log-probs.
        seed: of the draw, which is a function of the seed and the batch's shape.
        drift: nats, standard deviation of logp - old.
        under_mask: value off the mask.
    """
    rng = generator(seed, "random_policy")
    shape, mask_BT = tuple(batch.mask_BT.shape), batch.mask_BT

    def leaf(values: np.ndarray, base: Tensor | None = None) -> Tensor:
        tensor = torch.tensor(values).to(batch.old_logp_BT)
        tensor = tensor if base is None else tensor + base
        return torch.where(mask_BT, tensor, under_mask).requires_grad_()

    logp_BT = leaf(drift * rng.standard_normal(shape), batch.old_logp_BT)
    entropy_BT = leaf(rng.gamma(2.0, 0.5, shape))
    value_BT = leaf(rng.standard_normal(shape))
    heads = {}
    for name, outputs in RANDOM_HEADS.items():
        score_BTK = torch.tensor(rng.standard_normal((*shape, outputs))).to(batch.old_logp_BT)
        heads[name] = torch.where(mask_BT[..., None], score_BTK, under_mask).requires_grad_()
    return PolicyOut(logp_BT, lambda: entropy_BT, value_BT, heads)


def _padded(
    built: list[tuple[list[int], int, int, float]], rng: np.random.Generator, under_mask: float, dtype: torch.dtype
) -> Batch:
    shape = len(built), max(len(spans) for spans, *_ in built)
    turn = np.full(shape, -1)
    mask = np.zeros(shape, bool)
    attend = np.zeros(shape, bool)
    for row, (spans, _, _, trained) in enumerate(built):
        written = np.array(spans)
        turn[row, : len(spans)] = np.where(written < -1, -2 - written, written)
        mask[row, : len(spans)] = (trained > 0) & (written >= 0)
        attend[row, : len(spans)] = True
        if 0 < trained < 1:
            mask[row] &= rng.random(shape[1]) < trained

    def floats(values: np.ndarray) -> Tensor:
        return torch.tensor(np.where(mask, values, under_mask)).to(dtype)

    old = -rng.gamma(2.0, 0.5, shape)
    behaviour = old + 0.4 * rng.standard_normal(shape)
    returns = rng.standard_normal(shape)
    mask_BT, rollout_B = torch.tensor(mask), torch.tensor([rollout for _, _, rollout, _ in built])
    return Batch(
        ids_BT=torch.tensor(np.where(attend, rng.integers(1, VOCABULARY, shape), 0)),
        attend_BT=torch.tensor(attend),
        mask_BT=mask_BT,
        adv_BT=floats(rng.standard_normal(shape)),
        old_logp_BT=floats(old),
        behaviour_logp_BT=floats(behaviour),
        turn_BT=torch.tensor(turn),
        group_B=torch.tensor([group for _, group, _, _ in built]),
        rollout_B=rollout_B,
        rollout_tokens_B=torch.zeros(shape[0], dtype=dtype),
        rollout_turns_B=torch.zeros(shape[0], dtype=dtype),
        temperature_B=torch.ones(shape[0], dtype=dtype),
        denominators=Denominators(0.0, 0.0, 0.0, 0.0, 0.0),
        extras={
            "ref_logp": floats(old + 0.4 * rng.standard_normal(shape)),
            "value": floats(returns + rng.standard_normal(shape)),
            "returns": floats(returns),
        },
    )


def _counted(batch: Batch) -> Batch:
    """Compute the batch's denominators by a slow loop."""
    tokens: dict[int, int] = {}
    turns: dict[int, set[int]] = {}
    groups: set[int] = set()
    positive = 0
    for row, (rollout, group) in enumerate(zip(batch.rollout_B.tolist(), batch.group_B.tolist())):
        trained = batch.mask_BT[row].nonzero()[:, 0].tolist()
        tokens[rollout] = tokens.get(rollout, 0) + len(trained)
        turns.setdefault(rollout, set()).update(int(batch.turn_BT[row, t]) for t in trained)
        groups |= {group} if trained else set()
        positive += sum(float(batch.adv_BT[row, t]) > 0 for t in trained)
    counts = Denominators(
        tokens=float(sum(tokens.values())),
        rollouts=float(sum(n > 0 for n in tokens.values())),
        turns=float(sum(map(len, turns.values()))),
        groups=float(len(groups)),
        positive=float(positive),
    )
    return replace(
        batch,
        denominators=counts,
        rollout_tokens_B=torch.tensor([tokens[r] for r in batch.rollout_B.tolist()]).to(batch.rollout_tokens_B),
        rollout_turns_B=torch.tensor([len(turns[r]) for r in batch.rollout_B.tolist()]).to(batch.rollout_turns_B),
    )


def _spread(rows: Rows, shape: tuple[int, ...]) -> np.ndarray:
    """Make [B, T] from ragged rows, which begin at column 1, or from a number."""
    if isinstance(rows, int | float):
        return np.full(shape, float(rows))
    out = np.full(shape, NAN)
    for i, row in enumerate(rows):
        out[i, 1 : 1 + len(row)] = [NAN if number is None else number for number in row]
    return out
