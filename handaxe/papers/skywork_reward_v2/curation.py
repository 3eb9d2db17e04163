"""Curation of preference pairs: error-driven retrieval and labelling, then a filter by two reward models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import PairJudge
from handaxe.core.records import Pair

__all__ = ["Filtered", "Labeller", "curate", "filter_pairs", "flipped", "nearest", "retrieval_size"]

Labeller = Callable[[Pair], Pair | None]
"""Pair -> the pair with the better side first, or None without agreement of the models that label."""
Fit = Callable[[Sequence[Pair]], PairJudge]
"""Preference pairs -> a fitted reward model."""
EVEN = 0.5


def retrieval_size(chance: float, *, most: int = 8) -> int:
    """Number of unlabelled pairs to retrieve for a verified pair.

        k = most if p <= 1/2, else ceil(most (1 - p))        p = sigmoid(score of the better - score of the worse side)

    Args:
        chance: p of the reward model for the verified side, 0 to 1.
        most: k_max, 8 in the paper.

    Returns:
        k, 0 to `most`.

    Raises:
        InputError: a number out of range.

    Example:
        0.3 -> 8;  0.6 -> 4;  0.95 -> 1

    Paper: arXiv:2507.01352 (Skywork-Reward-V2), error-driven adaptive retrieval.
    Differs: nothing known.
    """
    if not 0 <= chance <= 1 or most < 1:
        raise InputError(f"retrieval_size takes a probability and 1 pair or more, not {chance} and {most}")
    return most if chance <= EVEN else ceil(round(most * (1 - chance), 9))


def nearest(query_D: np.ndarray, pool_ND: np.ndarray, count: int) -> list[int]:
    """Indices of the rows with the greatest cosine similarity, the greatest first.

    Args:
        query_D: embedding.
        pool_ND: embeddings; a row of zeros has similarity 0.
        count: at most.

    Returns:
        Indices.

    Example:
        (1, 0) among (0, 1), (2, 0), (1, 1), count 2 -> 1, 2

    Idea: similar pairs are those that a reward model confuses for the same reason.
    """
    norm_N = np.linalg.norm(pool_ND, axis=1) * np.linalg.norm(query_D)
    like_N = np.divide(pool_ND @ query_D, norm_N, out=np.zeros(len(pool_ND)), where=norm_N > 0)
    return [int(n) for n in np.argsort(-like_N, kind="stable")[:count]]


def flipped(pair: Pair) -> Pair:
    """Exchange the sides.

    Example:
        chosen a, rejected b -> chosen b, rejected a
    """
    return pair._replace(chosen=pair.rejected, rejected=pair.chosen)


def curate(
    gold: Sequence[Pair],
    seed_pairs: Sequence[Pair],
    pool: Sequence[Pair],
    *,
    fit: Fit,
    label: Labeller,
    embed: Callable[[Pair], np.ndarray],
    rounds: int = 2,
    most: int = 8,
) -> list[Pair]:
    """Grow a set of machine-labelled pairs where the reward model errs on verified pairs.

        silver = labelled seed pairs
        each round: fit on silver; for each verified pair retrieve `retrieval_size` nearest pairs of the pool that were
        not retrieved before; label these; add those with a label

    Args:
        gold: pairs verified by people; they choose what is retrieved, and do not train.
        seed_pairs: first pairs to label.
        pool: pairs whose given order is not trusted.
        fit: of a reward model.
        label: by several models; None leaves a pair out.
        embed: pair -> embedding, equal for both orders.
        rounds: 8 in the paper.
        most: see `retrieval_size`.

    Returns:
        Labelled pairs, each pair of the pool at most once.

    Raises:
        InputError: no verified pair, or no labelled seed pair.

    Example:
        one verified pair with p = 0.3, most 8  ->  up to 8 pairs in a round

    Paper: arXiv:2507.01352 (Skywork-Reward-V2), stage 1.
    Differs: labels of a round are not shown to people again.
    """
    silver = [one for one in map(label, seed_pairs) if one is not None]
    if not gold or not silver:
        raise InputError("curation needs a verified pair, and a seed pair with a label")
    gold_ND = np.stack([embed(pair) for pair in gold])
    left = list(range(len(pool)))
    pool_ND = np.stack([embed(pair) for pair in pool]) if pool else np.zeros((0, gold_ND.shape[1]))
    for _ in range(rounds):
        chance_G = fit(silver).compare([(pair.chosen, pair.rejected) for pair in gold])
        taken = list[int]()
        for query_D, chance in zip(gold_ND, chance_G, strict=True):
            free = [n for n in left if n not in taken]
            found = nearest(query_D, pool_ND[free], retrieval_size(float(chance), most=most))
            taken += [free[n] for n in found]
        left = [n for n in left if n not in taken]
        silver += [one for one in (label(pool[n]) for n in taken) if one is not None]
    return silver


class Filtered(NamedTuple):
    """Parts of a pool: agreed, kept in their order; recycled, with sides exchanged; relabelled; dropped."""

    agreed: list[Pair]
    recycled: list[Pair]
    relabelled: list[Pair]
    dropped: list[Pair]


def filter_pairs(pool: Sequence[Pair], *, best: PairJudge, gold: PairJudge, label: Labeller) -> Filtered:
    """Sort pairs of unknown quality by the agreement of two reward models with the given order.

        best p > 1/2 and gold p > 1/2     agreed
        neither                           recycled: chosen and rejected exchange places
        one of both                       labelled again; kept in the label's order if the gold model agrees with it

    Args:
        pool: pairs in their given order.
        best: reward model of all curated data.
        gold: reward model of verified pairs alone.
        label: by several models.

    Returns:
        The parts, each in the order of the pool.

    Example:
        p of best 0.2 and of gold 0.1  ->  recycled

    Paper: arXiv:2507.01352 (Skywork-Reward-V2), stage 2: consistency filter, relabelling, recycled pairs.
    Unconfirmed: the order of filter and relabelling.
    Differs: nothing known.
    """
    parts = Filtered([], [], [], [])
    if not pool:
        return parts
    sides = [(pair.chosen, pair.rejected) for pair in pool]
    for pair, a, b in zip(pool, best.compare(sides) > EVEN, gold.compare(sides) > EVEN, strict=True):
        if a and b:
            parts.agreed.append(pair)
        elif not a and not b:
            parts.recycled.append(flipped(pair))
        else:
            again = label(pair)
            right = again is not None and bool(gold.compare([(again.chosen, again.rejected)])[0] > EVEN)
            (parts.relabelled if right else parts.dropped).append(again if right and again is not None else pair)
    return parts
