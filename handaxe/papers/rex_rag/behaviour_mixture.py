"""Importance ratios against a mixture of the policy and forced probes."""

from collections.abc import Sequence
from dataclasses import replace
from math import log
from typing import Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Selector
from handaxe.core.records import Branch, RatedGroup, TokenSequence, Trajectory
from handaxe.ops.ragged import group_rewards

__all__ = ["behaviour_mixture"]


def behaviour_mixture(
    *,
    weight: float = 1.0,
    right: float = 1.0,
    channel: str | None = None,
    error: Literal["group", "batch"] = "group",
) -> Selector:
    """Set old_logp to a mixture of the policy and the distribution that forces probes after wrong answers.

        old_t = log((1 - a) * pi_t + a * mu_t)      pi_t = exp(old_logp_t) as measured
        a     = weight * clones / trajectories      over the trained ones of the whole batch
        mu_t  = 0                                   in a trajectory that is no clone
        mu_t  = pi_t / err^(1/j)                    in a clone, at the j policy tokens before its forced words
        mu_t  = exp(behaviour_logp_t)               at its forced words
        mu_t  = pi_t                                after them, so that old_t = log pi_t there
        err   = share of wrong answers among the trajectories that are no clones

    A clone is a trajectory that left another one (`branch_of`). Its prefix exists because it led to a wrong answer, so
    that under mu it is more likely by 1 / err over its j tokens. A ratio pi / exp(old) is then at most 1 / (1 - a)
    while the policy is unchanged, and small instead of 1 at forced words that the policy would not have sampled. For a
    token sampled by pi with probability 1 - a or forced by mu with a, the ratios of all trajectories but the clones
    average to 1 over the batch, and their gradient is the policy's; clones come on top.

    Args:
        weight: of a, from 0, with old_logp as measured, to 1, as in the paper.
        right: minimum reward of a correct answer.
        channel: of the scores that holds this reward; None: the whole reward.
        error: take err over the clone's own "group" or the "batch". It is at least 1 / n of the n counted trajectories,
            since one of them was wrong.

    Returns:
        A selector: [RatedGroup] -> [RatedGroup], all groups in order with the feature old_logp, [T], 0 off the mask;
        unchanged if no clone trains. Scores, advantages and masks are unchanged.

    Raises:
        InputError: a weight out of [0, 1]; a sequence with forced words and without old_logp: pass
            annotate=("old_logp",).

    Example:
        pi 0.2, a 0.1: mu 1 -> 0.28, log -1.2730; mu 0 -> 0.18, log -1.7148. A policy at 0.3 has the ratio 1.0714
        instead
        of 1.5, and 1.6667
        err 0.5, j 2: mu = pi / 0.7071, so mu of both tokens together is pi / 0.5

    Paper: arXiv:2508.08149 (REX-RAG), policy correction by the mixture of its behaviour policies.
    Unconfirmed: err over the group or the batch, and that j counts the policy's tokens alone.
    Differs: a counts trained trajectories, after filtering.
    """
    if not 0 <= weight <= 1 or error not in ("group", "batch"):
        raise InputError(f"behaviour_mixture has weight={weight} and error={error!r}; give 0 to 1, 'group' or 'batch'")

    def select(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        trained = [one.group[int(i)] for one in rated for i in np.flatnonzero(one.trained)]
        clones = sum(one.branch_of is not None for one in trained)
        if not clones or not weight:
            return list(rated)
        a = weight * clones / len(trained)
        wrong = [_wrong(one, channel, right) for one in rated]
        if error == "batch":
            wrong = [np.concatenate(wrong)] * len(rated)
        return [_mixed(one, a, _share(own)) for one, own in zip(rated, wrong, strict=True)]

    return select


def _wrong(one: RatedGroup, channel: str | None, right: float) -> np.ndarray:
    """Whether each scored trajectory that is no clone is wrong."""
    value_G = group_rewards(one.group, one.scores, channel=channel)
    first_G = np.array([sibling.branch_of is None for sibling in one.group], bool) & ~np.isnan(value_G)
    return value_G[first_G] < right


def _share(wrong: np.ndarray) -> float:
    return max(int(wrong.sum()), 1) / max(len(wrong), 1)


def _mixed(one: RatedGroup, a: float, err: float) -> RatedGroup:
    siblings = tuple(_sibling(trajectory, a, err) for trajectory in one.group)
    return one.with_group(replace(one.group, trajectories=siblings))


def _sibling(one: Trajectory, a: float, err: float) -> Trajectory:
    before = 0 if one.branch_of is None else sum(int(mask_T.sum()) for mask_T in _before(one, one.branch_of))
    made = []
    for s, sequence in enumerate(one.sequences):
        pi_T = _measured(one, sequence)
        rest = log(1 - a) if a < 1 else -np.inf
        if one.branch_of is None:
            old_T = pi_T + (rest if a < 1 else 0.0)  # where clones alone train, it does not
        else:
            mu_T = pi_T - np.where(_before(one, one.branch_of)[s], log(err) / max(before, 1), 0.0)
            mu_T = np.where(sequence.forced, sequence.behaviour_logp, mu_T)
            old_T = np.logaddexp(rest + pi_T, log(a) + mu_T)
        features = {**sequence.features, "old_logp": np.where(sequence.mask, old_T, 0.0)}
        made.append(replace(sequence, features=features))
    return replace(one, sequences=tuple(made))


def _before(one: Trajectory, at: Branch) -> list[np.ndarray]:
    """Per sequence [T] bool: the policy's tokens before the fork of a clone."""
    stops = [len(s) if k < at.sequence else at.token if k == at.sequence else 0 for k, s in enumerate(one.sequences)]
    return [s.mask & (np.arange(len(s)) < stop) for s, stop in zip(one.sequences, stops, strict=True)]


def _measured(one: Trajectory, sequence: TokenSequence) -> np.ndarray:
    if "old_logp" in sequence.features:
        return np.asarray(sequence.features["old_logp"], np.float64)
    if sequence.forced.any():
        raise InputError(
            f'trajectory {one.id!r} holds forced words and no old_logp: pass annotate=("old_logp",) to train'
        )
    return np.asarray(sequence.logp, np.float64)
