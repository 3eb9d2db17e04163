"""Shapings of a reward model's score that PAR is compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import scipy  # scipy.special takes a while: imported on use

from handaxe import rewards
from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, RatedGroup, Scores, Task

__all__ = ["RunningScores", "Shaping", "shaped_scores"]

Shaping = Literal[
    "win_rate",
    "raw",
    "centred",
    "sigmoid",
    "tanh",
    "polynomial",
    "log_sigmoid",
    "ceiling",
    "mean_std",
    "min_max",
    "clip",
]
QUANTILE = 0.85
"""Of the normal distribution of the references' scores, in "log_sigmoid"; as in the released code."""
FITTED = 5.0
"""Half of the range in which a polynomial of degree 5 is fitted to the sigmoid."""


class RunningScores:
    """Learner that keeps mean, standard deviation, minimum and maximum of all scores of the steps so far.

    Args:
        channel: of the scores, such as "proxy/score". NaN does not count.
        first: scores that count in the first step, as no step is there before; of the references.

    Example:
        scores 1, 3 in the first step and 5 in the second  ->  mean 3, std 1.633 (population), low 1, high 5

    Paper: arXiv:2502.18770 (PAR), running statistics of the released code.
    Differs: the scores of a step count from the next step on; the released code adds them before it shapes them.
    """

    def __init__(self, channel: str, first: Callable[[], np.ndarray]):
        self._channel = channel
        self._first = first
        self._state = {"count": 0.0, "mean": 0.0, "squares": 0.0, "low": np.inf, "high": -np.inf}

    @property
    def figures(self) -> tuple[float, float, float, float]:
        """Mean, standard deviation, minimum and maximum."""
        own = self._state if self._state["count"] else _merged(self._state, self._first())
        if not own["count"]:
            raise InputError("no score is known yet: play the references before the first step")
        return own["mean"], (own["squares"] / own["count"]) ** 0.5, own["low"], own["high"]

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Add the scores of a step; returns the figures."""
        del step
        for one in groups:
            self._state = _merged(self._state, one.scores.channels[self._channel])
        mean, std, low, high = self.figures
        return {"mean": mean, "std": std, "low": low, "high": high}

    def state_dict(self) -> dict[str, Any]:
        return dict(self._state)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._state = dict(state)


def shaped_scores(
    *,
    shaping: Shaping,
    score: Reward,
    references: Callable[[Task], np.ndarray],
    running: RunningScores,
    steepness: float = 1.0,
    ceiling: float = 2.0,
) -> Reward:
    """Shape the score r of a rollout. r_m: scores of the references of the task, M of them.

        win_rate      mean over m of sigmoid(k (r - r_m)), the paper's choice; `rewards.win_rate`
        raw           r
        centred       r - mean over m of r_m
        sigmoid       sigmoid(k r)
        tanh          mean over m of tanh(r - r_m)
        polynomial    mean over m of p(r - r_m), p: of degree 5, fitted to the sigmoid in -5 to 5, and 0 and 1 outside
        log_sigmoid   log sigmoid(r - q), q: the 0.85 quantile of a normal distribution with mean and std of r_m
        ceiling       min(r, c)
        mean_std      (r - mean) / std            mean, std, low and high of `running`
        min_max       (r - low) / (high - low)
        clip          r, between mean - std and mean + std

    Args:
        shaping: one of these.
        score: a reward whose outcome is r.
        references: task -> r_m, of answers of the first policy.
        running: statistics of earlier steps; a learner of the run.
        steepness: k, > 0.
        ceiling: c. Unconfirmed: the released code has none by default.

    Returns:
        A reward; an unscored rollout (NaN) stays unscored. The channel "score" has r.

    Raises:
        InputError: an unknown shaping; a task without references, if the shaping compares.

    Example:
        r 2, references 1, 2, 4: centred -0.3333; tanh (0.7616 + 0 - 0.9640) / 3 = -0.0675
        log_sigmoid: mean 2.3333, std 1.2472, q 3.6260  ->  log sigmoid(-1.6260) = -1.8056

    Paper: arXiv:2502.18770 (PAR), the shapings of the comparison, as in the released code.
    Differs: see `RunningScores`; a spread of 0 counts as 1 in mean_std and min_max.
    """
    if shaping not in get_args(Shaping):
        raise InputError(f"shaping is {shaping!r}; give one of {', '.join(get_args(Shaping))}")
    if shaping == "win_rate":
        return rewards.win_rate(score=score, references=references, steepness=steepness)
    forms: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
        "raw": lambda r_G, r_M: r_G,
        "centred": partial(_compared, lambda gap: gap),
        "sigmoid": lambda r_G, r_M: scipy.special.expit(steepness * r_G),
        "tanh": partial(_compared, np.tanh),
        "polynomial": partial(_compared, _polynomial()),
        "log_sigmoid": _log_sigmoid,
        "ceiling": lambda r_G, r_M: np.minimum(r_G, ceiling),
    }

    def reward(group: Group) -> Scores:
        found = score(group)
        value_G = np.asarray(found.outcome, np.float64)
        if (form := forms.get(shaping)) is None:
            shaped_G = _standardised(shaping, value_G, running.figures)
        else:
            shaped_G = form(value_G, np.asarray(references(group.task), np.float64))
        return Scores(shaped_G, channels={**found.channels, "score": value_G}, eligible=found.eligible)

    return reward


def _compared(form: Callable[[np.ndarray], np.ndarray], value_G: np.ndarray, reference_M: np.ndarray) -> np.ndarray:
    """Mean of a form of the gaps to the references."""
    if not len(reference_M):
        raise InputError("a task has no reference answer to compare with")
    return form(value_G[:, None] - reference_M[None, :]).mean(1)


def _polynomial() -> Callable[[np.ndarray], np.ndarray]:
    x_N = np.linspace(-FITTED, FITTED, 100)
    fitted = np.polynomial.Polynomial.fit(x_N, 1 / (1 + np.exp(-x_N)), 5)

    def form(gap: np.ndarray) -> np.ndarray:
        outside = np.where(np.isnan(gap), np.nan, (gap > 0).astype(float))
        return np.where(np.abs(gap) < FITTED, fitted(gap), outside)

    return form


def _log_sigmoid(value_G: np.ndarray, reference_M: np.ndarray) -> np.ndarray:
    if not len(reference_M):
        raise InputError("a task has no reference answer to compare with")
    quantile = reference_M.mean() + reference_M.std() * scipy.special.ndtri(QUANTILE)
    return np.asarray(scipy.special.log_expit(value_G - quantile))


def _standardised(shaping: str, value_G: np.ndarray, figures: tuple[float, float, float, float]) -> np.ndarray:
    mean, std, low, high = figures
    if shaping == "clip":
        return np.clip(value_G, mean - std, mean + std)
    centre, width = (mean, std) if shaping == "mean_std" else (low, high - low)
    return (value_G - centre) / (width if width > 0 else 1.0)


def _merged(state: Mapping[str, float], score_N: np.ndarray) -> dict[str, float]:
    """Statistics with further scores, by the update of Chan et al. for means and sums of squares."""
    score_N = np.asarray(score_N, np.float64)
    score_N = score_N[~np.isnan(score_N)]
    if not len(score_N):
        return dict(state)
    count, size = state["count"] + len(score_N), float(len(score_N))
    gap = float(score_N.mean()) - state["mean"]
    return {
        "count": count,
        "mean": state["mean"] + gap * size / count,
        "squares": state["squares"] + float(score_N.var()) * size + gap**2 * state["count"] * size / count,
        "low": min(state["low"], float(score_N.min())),
        "high": max(state["high"], float(score_N.max())),
    }
