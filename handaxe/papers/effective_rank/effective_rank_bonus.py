"""Advantage transform with a bonus for a high, or quickly growing, effective rank of hidden states."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import AdvantageTransform
from handaxe.core.records import RatedGroup, Trajectory
from handaxe.ops.ragged import scatter
from handaxe.ops.ragged import token_feature as feature_of

__all__ = ["EffectiveRankBonus", "effective_rank_bonus", "rank_dynamics"]

EPS = 1e-8
MOST = 5.0
"""Bound of the deviations from the running means, +-5, as in the released code."""
KINDS = ("acceleration", "velocity", "rank")


def effective_rank_bonus(
    *,
    feature: str = "effective_rank",
    stride: int = 40,
    kappa: float = 2.0,
    gain: float = 2.0,
    rate: float = 0.3,
) -> AdvantageTransform:
    """Shape advantages by the effective rank of a rollout's hidden states and by the growth of the rank.

        A'_i,t = A_i,t + min(max(Phi_i, 0), abs(A_i,t) / kappa)                  sampled tokens t of trajectory i
        Phi_i  = (1 - b) tanh(d_velocity) + b tanh(d_rank)                        b = sigmoid(gain d_acceleration)
        d_x    = clip((x_i - mu_x) / (abs(mu_x) + 1e-8), -5, 5)                   x: rank, velocity, acceleration

    m_0, m_1, ... are the effective ranks of the first `stride` + 1, 2 `stride` + 1, ... tokens of the trajectory, and
    rank is that of all tokens. Velocity is the mean over k >= 1 of m_k - mean(m_0 .. m_k-1), acceleration the mean
    difference of these (`rank_dynamics`). mu_x is the mean of x over the trained rollouts of the first batch, in which
    Phi is 0; after a later batch it moves by `rate` of the way to the mean of that batch. The bonus adds at most 1 /
    kappa of an advantage, which flips no sign for kappa >= 1; it has no gradient. Value targets and masks stay as they
    are.

    Args:
        feature: annotation with the effective rank of the hidden states of all policy tokens up to each one, exp of the
            entropy of their singular values: `annotate=(effective_rank(stride=...),)`, see
            `papers.effective_rank.effective_rank_of`.
        stride: tokens between two ranks, >= 1; 40 in the released runs.
        kappa: inverse of the largest share of an advantage that is added, > 0; 2 in the released runs.
        gain: slope of the choice between velocity (low) and rank (high) by acceleration; 2 in the released runs, 1.5 by
            default in the released code.
        rate: of the running means, in (0, 1]; 0.3 in the released runs, 0.7 by default in the released code.

    Returns:
        A stateful advantage transform: rated groups -> rated groups, in the same order. An advantage of 0 stays 0;
        untrained rollouts are unchanged. Rollouts shorter than two strides have velocity 0, those shorter than three
        acceleration 0.

    Raises:
        InputError: a number out of range; a trained rollout without the feature.

    Example:
        m 2, 3, 5, 6  ->  velocity 2.0556, acceleration 0.8333
        Phi 0.5: A 0.8 -> 1.2 and A -0.8 -> -0.4;   Phi -0.5 changes nothing

    Paper: arXiv:2509.23808 (VERL), the released code's dual-channel advantage shaping.
    Differs: the bonus reaches every token, where released code adds it at the last token alone; running means of
        released code start at 0, so that Phi of a constant statistic is nearly constant in the first steps; all turns
        of a rollout count as one response; released code takes ranks of the last 512 tokens and of six singular values
        alone for long responses, which is left to the measure; in a trajectory of several sequences, ranks start again
        with each, since each was read separately.
    """
    if stride < 1 or kappa <= 0 or not 0 < rate <= 1:
        raise InputError(
            f"stride is {stride}, kappa {kappa} and rate {rate}; give 1 or more, above 0, and above 0 up to 1"
        )
    return EffectiveRankBonus(feature, stride, kappa, gain, rate)


class EffectiveRankBonus:
    """Transform made by `effective_rank_bonus`; `usual` has the running means of acceleration, velocity and rank. It is
    empty before the first batch."""

    def __init__(self, feature: str, stride: int, kappa: float, gain: float, rate: float):
        self.usual: dict[str, float] = {}
        self._feature = feature
        self._stride = stride
        self._kappa = kappa
        self._gain = gain
        self._rate = rate

    def __call__(self, rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        found = [[self._dynamics(one, i) for i in range(len(one.group))] for one in rated]
        shaped = [self._shaped(one, own) for one, own in zip(rated, found, strict=True)]
        seen = [one for own in found for one in own if one is not None]
        if seen:
            for kind in KINDS:
                mean = float(np.mean([one[kind] for one in seen]))
                usual = self.usual.get(kind, mean)
                self.usual[kind] = (1 - self._rate) * usual + self._rate * mean
        return shaped

    def state_dict(self) -> dict[str, Any]:
        return {"usual": dict(self.usual)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.usual = dict(state["usual"])

    def _dynamics(self, one: RatedGroup, i: int) -> dict[str, float] | None:
        if not any(mask_T.any() for mask_T in one.training_mask(i)):
            return None
        return rank_dynamics(feature_of(one.group[i], self._feature), stride=self._stride)

    def _shaped(self, one: RatedGroup, found: Sequence[Mapping[str, float] | None]) -> RatedGroup:
        tokens = tuple(
            adv if own is None else self._raised(trajectory, adv, self._phi(own))
            for trajectory, adv, own in zip(one.group, one.advantages.tokens, found, strict=True)
        )
        return replace(one, advantages=replace(one.advantages, tokens=tokens))

    def _phi(self, own: Mapping[str, float]) -> float:
        if not self.usual:
            return 0.0
        deviation = {
            kind: float(np.clip((own[kind] - usual) / (abs(usual) + EPS), -MOST, MOST))
            for kind, usual in self.usual.items()
        }
        explore = 1 / (1 + np.exp(-self._gain * deviation["acceleration"]))
        return float((1 - explore) * np.tanh(deviation["velocity"]) + explore * np.tanh(deviation["rank"]))

    def _raised(self, trajectory: Trajectory, adv: Sequence[np.ndarray], phi: float) -> tuple[np.ndarray, ...]:
        bonus = scatter(trajectory, max(phi, 0.0))
        return tuple(
            adv_T + np.minimum(bonus_T, np.abs(adv_T) / self._kappa) for adv_T, bonus_T in zip(adv, bonus, strict=True)
        )


def rank_dynamics(rank_P: np.ndarray, *, stride: int) -> dict[str, float]:
    """Compute rank, velocity and acceleration of a rollout from the effective ranks of its prefixes.

    Args:
        rank_P: [P] ranks of the policy's first 1, 2, ..., P tokens.
        stride: tokens between two ranks.

    Example:
        ranks 1, 2, 3, 5, 6 with stride 1: m 2, 3, 5, 6  ->  rank 6, velocity 2.0556, acceleration 0.8333
    """
    m_K = rank_P[stride::stride]
    before_K = np.cumsum(m_K) / np.arange(1, len(m_K) + 1)
    first = m_K[1:] - before_K[:-1]
    second = np.diff(first)
    return {
        "acceleration": float(second.mean()) if len(second) else 0.0,
        "velocity": float(first.mean()) if len(first) else 0.0,
        "rank": float(rank_P[-1]) if len(rank_P) else 0.0,
    }
