"""Limits the number of resampled clones that count in a group."""

from collections.abc import Mapping
from math import ceil
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.ops.seeds import generator
from handaxe.ops.stateful_composite import StatefulComposite
from handaxe.rewards.parts.checks import validate_scores

__all__ = ["DedupResampled", "dedup_resampled"]

ROUNDING = 1e-9


def dedup_resampled(*, base: Reward, rate: float = 0.1, share: float = 0.0, seed: int = 0) -> "DedupResampled":
    """Score as `base` does, and keep at most a running mean of clones per group eligible.

        s    <- (1 - rate) * s + rate * clones / others         after each group
        kept = min(clones, ceil(s * others))                    clones that stay eligible, s after this group
        eligible_i' = eligible_i, and False for the clones that are not kept

    A clone is a trajectory that left another one (`branch_of`). Kept clones are sampled by id, so that neither order
    nor reward matters. A credit with `stats_over="eligible"` leaves the others out of its statistics, and
    `papers.rex_rag.mask_where` out of the loss, so that forced words do not dominate a group of clones.

    Args:
        base: a reward.
        rate: of the exponentially weighted mean, in (0, 1]; 0.1 in the paper.
        share: initial s, >= 0.
        seed: of the sampling.

    Returns:
        A stateful reward: Scores of `base`, with `eligible` [G] and the channel "clones" [G], 1 for a clone. A group
        without clones lowers s and is unchanged; a single clone in a group with others is always kept.

    Raises:
        InputError: a rate or a share out of range.

    Example:
        rate 0.1, s 0: 8 others and 4 clones -> s 0.05, ceil(0.4) = 1 is kept; again -> s 0.095, ceil(0.76) = 1;
        again -> s 0.1355, ceil(1.084) = 2

    Paper: arXiv:2508.08149 (REX-RAG), its filter of cloned rollouts.
    Unconfirmed: the form; known is that clones are thinned by an exponentially weighted mean of rate 0.1.
    Differs: nothing known.
    """
    if not 0 < rate <= 1 or not share >= 0:
        raise InputError(
            f"dedup_resampled has rate={rate} and share={share}; give a rate in (0, 1] and a share of 0 or more"
        )
    return DedupResampled(base, rate, share, seed)


class DedupResampled(StatefulComposite):
    """Reward of `dedup_resampled`; `share` is the running number of clones per other rollout."""

    def __init__(self, base: Reward, rate: float, share: float, seed: int):
        self.share = share
        self._base = base
        self._rate, self._seed = rate, seed

    def __call__(self, group: Group) -> Scores:
        base = validate_scores(self._base(group), group, "base")
        clones = [i for i, one in enumerate(group) if one.branch_of is not None]
        others = len(group) - len(clones)
        if others:
            self.share = (1 - self._rate) * self.share + self._rate * len(clones) / others
        kept = ceil(self.share * others - ROUNDING) if others else len(clones)
        eligible = np.ones(len(group), bool) if base.eligible is None else np.array(base.eligible, bool)
        eligible[sorted(clones, key=lambda i: self._draw(group[i]))[kept:]] = False
        cloned = np.array([one.branch_of is not None for one in group], np.float64)
        return Scores(
            base.outcome,
            turns=base.turns,
            channels={**{f"base/{name}": values for name, values in base.channels.items()}, "clones": cloned},
            turn_channels=base.turn_channels,
            eligible=eligible,
        )

    def parts(self) -> Mapping[str, object]:
        return {"base": self._base}

    def state_dict(self) -> dict[str, Any]:
        return {"share": self.share} | super().state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.share = state["share"]
        super().load_state_dict(state)

    def _draw(self, one: Trajectory) -> float:
        # The name of version 0.1: equal seeds, equal draws.
        return float(generator("thin_clones", self._seed, one.id).random())
