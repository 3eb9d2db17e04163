"""Weights of auxiliary rewards, learned between steps by the implicit gradient of the primary reward."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy  # scipy.special takes a while: imported on use

from handaxe.core.errors import InputError
from handaxe.core.records import RatedGroup

__all__ = ["ChannelWeights", "channel_weights", "weight_gradient"]


def channel_weights(
    initial: Mapping[str, float], *, primary: str, rate: float = 1.0, temperature: float = 0.5, learns: bool = True
) -> ChannelWeights:
    """Learn weights of auxiliary channels so that the policy of the blended reward has a high primary reward.

        r_i = primary_i + sum_k w_k auxiliary_k,i
        inner:  p = softmax(r / tau), the maximizer of E_p[r] - tau KL(p || uniform) over the siblings of a group
        outer:  J = E_p[primary]
        dJ/dw_k = Cov_p(primary, auxiliary_k) / tau                 the exact implicit gradient of the inner optimum
        w_k     <- w_k + rate * mean over groups of dJ/dw_k         after each step

    A channel whose reward takes probability from siblings with a high primary reward loses weight. The weight of the
    primary reward stays 1. The reward of a step uses the weights of the step before.

    Args:
        initial: auxiliary channel -> first weight.
        primary: channel of the primary reward.
        rate: of an update, > 0.
        temperature: tau of the inner problem, in units of the reward, > 0.
        learns: False measures the gradients, and keeps the weights.

    Returns:
        A learner. `weight(name)` is a weight for `rewards.weighted`. Metrics: weight/NAME after the update,
        gradient/NAME, moved (largest change of a weight), groups (with two scored siblings or more; others do not
        count).

    Raises:
        InputError: no auxiliary channel, the primary channel among these, a rate or temperature that is not above 0;
            a group without one of the channels.

    Example:
        siblings with primary 1 and 0 and auxiliary 0 and 1, weight 1, tau 0.5: r is 1 and 1, p is 1/2 and 1/2
        Cov_p = -1/4, dJ/dw = -0.5  ->  weight 0.5 with rate 1

    Paper: arXiv:2310.19007 (BARFI), weights phi of r_phi = phi_1 + phi_2 r_p + phi_3 r_aux by the implicit gradient.
    Unconfirmed: the form of r_phi, which is from memory.
    Differs: the inner policy is the best distribution over the sampled siblings instead of the policy's parameters, so
        that H^-1 has a closed form and needs no series; phi_1 is 0, phi_2 is 1, phi_3 is one number for all states, and
        the discount is not learned.
    """
    if not initial or primary in initial:
        raise InputError(f"auxiliary channels are {sorted(initial)}; give one or more, without the primary {primary!r}")
    if not rate > 0 or not temperature > 0:
        raise InputError(f"rate is {rate} and temperature {temperature}; give numbers above 0")
    return ChannelWeights(dict(initial), primary, rate, temperature, learns)


class ChannelWeights:
    """Learner made by `channel_weights`; `weights` has the present weight of each auxiliary channel."""

    def __init__(self, initial: dict[str, float], primary: str, rate: float, temperature: float, learns: bool):
        self.weights = initial
        self._primary = primary
        self._rate = rate
        self._temperature = temperature
        self._learns = learns

    def weight(self, name: str) -> Callable[[int], float]:
        """Function of the step with the present weight of a channel."""

        def present(step: int) -> float:
            del step
            return self.weights[name]

        return present

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Move the weights along the mean gradient of the groups."""
        del step
        slopes = [slope for one in groups if (slope := self._slope(one)) is not None]
        mean_K = np.mean(slopes or [np.zeros(len(self.weights))], axis=0)
        moved_K = self._rate * mean_K if self._learns else np.zeros(len(mean_K))
        found = {"groups": float(len(slopes)), "moved": float(np.abs(moved_K).max())}
        for name, slope, moved in zip(list(self.weights), mean_K.tolist(), moved_K.tolist(), strict=True):
            self.weights[name] += moved
            found |= {f"gradient/{name}": slope, f"weight/{name}": self.weights[name]}
        return found

    def state_dict(self) -> dict[str, Any]:
        return {"weights": dict(self.weights)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.weights = {name: float(value) for name, value in state["weights"].items()}

    def _slope(self, one: RatedGroup) -> np.ndarray | None:
        missing = {self._primary, *self.weights} - one.scores.channels.keys()
        if missing:
            raise InputError(f"the reward has no channel {sorted(missing)}; give rewards.weighted these components")
        primary_G = np.asarray(one.scores.channels[self._primary], np.float64)
        auxiliary_KG = np.array([one.scores.channels[name] for name in self.weights], np.float64)
        scored_G = np.isfinite(primary_G) & np.isfinite(auxiliary_KG).all(0)
        if scored_G.sum() < 2:
            return None
        weight_K = np.array(list(self.weights.values()))
        return weight_gradient(primary_G[scored_G], auxiliary_KG[:, scored_G], weight_K, temperature=self._temperature)


def weight_gradient(
    primary_G: np.ndarray, auxiliary_KG: np.ndarray, weight_K: np.ndarray, *, temperature: float
) -> np.ndarray:
    """Compute dJ/dw_k = Cov_p(primary, auxiliary_k) / tau with p = softmax((primary + w . auxiliary) / tau).

    Args:
        primary_G, auxiliary_KG: rewards of the siblings of a group.
        weight_K: weights of the auxiliary rewards.
        temperature: tau.

    Returns:
        [K].

    Example:
        primary 1, 0; auxiliary 0, 1; weight 1; tau 0.5  ->  -0.5
    """
    p_G = scipy.special.softmax((primary_G + weight_K @ auxiliary_KG) / temperature)
    centred_KG = auxiliary_KG - (auxiliary_KG @ p_G)[:, None]
    return np.asarray(centred_KG @ (p_G * primary_G) / temperature)
