"""How the parts of a reward go together within groups, of a record or of any scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Scores

__all__ = ["ChannelCovariance", "channel_covariance"]


class ChannelCovariance(NamedTuple):
    """What `channel_covariance` found.

    names         of the K channels
    covariance    [K, K] within groups;  spreads [K] the roots of its diagonal
    correlation   [K, K]; NaN where a channel varies in no group
    groups        how many had two or more scored siblings
    """

    names: tuple[str, ...]
    covariance: np.ndarray
    spreads: np.ndarray
    correlation: np.ndarray
    groups: int


def channel_covariance(scored: Iterable[Scores], *, names: Sequence[str] = ()) -> ChannelCovariance:
    """Pool the covariance of channels within groups, which is what group-normalised credits see of them.

        C_jk = sum_g sum_i (x_gij - mean_gj) (x_gik - mean_gk) / sum_g G_g

    over groups g of G_g scored siblings each; how groups differ from each other does not enter. Where spreads are
    equal, normalising each channel for itself points the way that normalising their sum does; see
    `evaluation.decomposition`.

    Args:
        scored: of each group, such as `record.groups()` has them. Unscored siblings (outcome NaN) are left out, and
            so are groups of fewer than two others.
        names: channels; those of the first group that counts where there are none.

    Returns:
        The covariance over n, spreads and correlation.

    Raises:
        InputError: scores of a group that counts lack a channel, or no group is left.

    Example:
        right (1, 0, 1, 0), formed (1, 1, 1, 0)  ->  spreads 0.5, 0.433, covariance 0.125, correlation 0.577

    Paper: arXiv:2604.19857 (TA-MDP), which ties the gap between joint and decomposed optimisation to how rewards go
    together.
    Unconfirmed: the abstract alone was read.
    Differs: nothing known.
    """
    total, kept = np.zeros((0, 0)), tuple(names)
    count = groups = 0
    for scores in scored:
        counts_G = ~np.isnan(scores.outcome)
        if counts_G.sum() < 2:
            continue
        kept = kept or tuple(scores.channels)
        if missing := [name for name in kept if name not in scores.channels]:
            there = ", ".join(sorted(scores.channels)) or "none"
            raise InputError(f"some scores have no channel {missing[0]!r}; there are {there}")
        columns_KG = np.array([scores.channels[name][counts_G] for name in kept], np.float64)
        if not kept:
            continue
        centred_KG = columns_KG - columns_KG.mean(1, keepdims=True)
        centred_KG[np.ptp(columns_KG, axis=1) <= 1e-12] = 0.0  # what is equal up to rounding does not vary
        total = (total if total.size else np.zeros((len(kept), len(kept)))) + centred_KG @ centred_KG.T
        count, groups = count + columns_KG.shape[1], groups + 1
    if not groups:
        raise InputError("there is no group with channels and two scored siblings to take a covariance of")
    covariance = total / count
    spreads = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = covariance / np.outer(spreads, spreads)
    return ChannelCovariance(kept, covariance, spreads, correlation, groups)
