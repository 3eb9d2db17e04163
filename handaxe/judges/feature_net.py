"""Scores rollouts by a small network on features of the rollout, trained on pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine, Labelled, Pairs
from handaxe.core.records import Group, Pair, RatedGroup, Trajectory
from handaxe.judges.labelled_groups import ranking_metrics, with_zero_credit

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["FeatureNet", "RolloutFeatures", "feature_net"]

RolloutFeatures = Callable[[Trajectory], Sequence[float]]
"""Rollout -> F numbers, the same F for all."""
LEAST_STD = 1e-6


def feature_net(
    *,
    features: RolloutFeatures,
    size: int,
    pairs: Pairs,
    hidden: int = 16,
    steps: int = 200,
    learning_rate: float = 0.01,
    weight_decay: float = 0.01,
    learns: bool = False,
    channel: str | None = None,
    seed: int = 0,
) -> FeatureNet:
    """Make a judge that sees features of a rollout, and not its text.

        x = (features - mean) / std of the data of the first fit        a feature that never varies is 0
        score = w_2 . tanh(W_1 x + b_1)        with hidden 0: w . x
        L = mean over pairs of softplus(-(score_w - score_l))

    Args:
        features: of a rollout.
        size: F, number of features.
        pairs: preferences, such as `selection.pairs.ordered()`.
        hidden: units of the hidden layer; 0 for a linear score.
        steps: steps of AdamW on all pairs, each time it learns.
        learning_rate, weight_decay: of AdamW.
        learns: learn from the rollouts of each step of a run; False: `fit` is the only training.
        channel: of the scores with the outcome that metrics compare with; None: the outcome.
        seed: of the initialization; torch's random state is not used.

    Returns:
        A judge that is a PairJudge (sigmoid(score_a - score_b)), Fittable and a Learner, with weights and scale of
        the features in its state. Before it has learned, features are not scaled.

    Raises:
        InputError: a number out of range, or another number of features than `size`.

    Example:
        weights 1 and -2, features (0.8, 0.1) chosen and (0.6, 0.4) rejected: scores 0.6 and -0.2, loss 0.3711

    Idea: domain knowledge as a bottleneck of a reward model, which then needs few pairs.
    """
    if size < 1 or hidden < 0 or steps < 1 or not learning_rate > 0 or weight_decay < 0:
        raise InputError(
            "give a size and steps from 1, hidden and weight_decay from 0 and a learning_rate above 0, not "
            f"{size}, {steps}, {hidden}, {weight_decay} and {learning_rate}"
        )
    options = _Options(steps, learning_rate, weight_decay, learns, channel)
    return FeatureNet(features, pairs, _first_weights(size, hidden, seed), options)


class _Options(NamedTuple):
    """Arguments of `feature_net`."""

    steps: int
    learning_rate: float
    weight_decay: float
    learns: bool
    channel: str | None


def _first_weights(size: int, hidden: int, seed: int) -> list[Tensor]:
    """w [F]; or W_1 [F, H], b_1 [H] and w_2 [H]."""
    rng = np.random.default_rng(seed)
    first = [rng.normal(size=(size, hidden)) / np.sqrt(size), np.zeros(hidden), rng.normal(size=hidden)]
    return [torch.from_numpy(one) for one in (first if hidden else [rng.normal(size=size) / np.sqrt(size)])]


class FeatureNet:
    """See `feature_net`."""

    def __init__(self, features: RolloutFeatures, pairs: Pairs, weights: list[Tensor], options: _Options):
        self._features = features
        self._pairs = pairs
        self._weights = weights
        self._options = options
        size = len(weights[0])
        self._mean_F, self._std_F = np.zeros(size), np.ones(size)
        self._scaled = False

    def begin(self, engine: Engine) -> None:
        """Do nothing: features need no policy."""

    # --- scoring ---------------------------------------------------------------------------------------------------

    def score(self, group: Group) -> np.ndarray:
        """[G]: the network's output."""
        return self._scores(list(group))

    def compare(self, pairs: Sequence[tuple[Trajectory, Trajectory]]) -> np.ndarray:
        """[P]: sigmoid(score of the first - score of the second)."""
        score_2P = self._scores([one for pair in pairs for one in pair])
        return 1 / (1 + np.exp(score_2P[1::2] - score_2P[0::2]))

    def _scores(self, trajectories: Sequence[Trajectory]) -> np.ndarray:
        if not trajectories:
            return np.zeros(0)
        with torch.no_grad():
            return np.array([float(self._output(row_1F)) for row_1F in self._inputs(trajectories)[:, None]])

    def _raw(self, trajectories: Sequence[Trajectory]) -> np.ndarray:
        rows = [np.asarray(self._features(one), np.float64) for one in trajectories]
        if wrong := {row.shape for row in rows} - {self._mean_F.shape}:
            raise InputError(f"features have shapes {sorted(wrong)}; the network takes {len(self._mean_F)} numbers")
        return np.stack(rows)

    def _inputs(self, trajectories: Sequence[Trajectory]) -> Tensor:
        return torch.from_numpy((self._raw(trajectories) - self._mean_F) / self._std_F)

    def _output(self, input_NF: Tensor) -> Tensor:
        if len(self._weights) == 1:
            return input_NF @ self._weights[0]
        first_FH, bias_H, last_H = self._weights
        return torch.tanh(input_NF @ first_FH + bias_H) @ last_H

    # --- learning --------------------------------------------------------------------------------------------------

    def fit(self, labelled: Sequence[Labelled]) -> dict[str, float]:
        """Learn from the pairs of labelled groups.

        Returns:
            loss and accuracy on the pairs after the last step, and labels, their number.
        """
        return self._fit(self._pairs(with_zero_credit(labelled)))

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Measure the scores of a step, then learn if the judge does; metrics of `ranking_metrics` and of `fit`."""
        del step
        score_N = self._scores([one for rated in groups for one in rated.group])
        found = ranking_metrics(score_N, groups, self._options.channel)
        return found | (self._fit(self._pairs(groups)) if self._options.learns else {})

    def _fit(self, pairs: Sequence[Pair]) -> dict[str, float]:
        if not pairs:
            return {"labels": 0.0}
        sides = [one for pair in pairs for one in (pair.chosen, pair.rejected)]
        if not self._scaled:
            raw_NF = self._raw(sides)
            self._mean_F, std_F = raw_NF.mean(0), raw_NF.std(0)
            self._scaled = True
            self._std_F = np.where(std_F > LEAST_STD, std_F, 1.0)
        input_NF = self._inputs(sides)
        own = [one.clone().requires_grad_() for one in self._weights]
        self._weights = own
        rate, decay = self._options.learning_rate, self._options.weight_decay
        optimizer = torch.optim.AdamW(own, lr=rate, weight_decay=decay)
        for _ in range(self._options.steps):
            optimizer.zero_grad()
            self._loss(input_NF)[0].backward()
            optimizer.step()
        self._weights = [one.detach() for one in own]
        loss, margin_P = self._loss(input_NF)
        return {"loss": float(loss), "accuracy": float((margin_P > 0).double().mean()), "labels": float(len(pairs))}

    def _loss(self, input_NF: Tensor) -> tuple[Tensor, Tensor]:
        score_N = self._output(input_NF)
        margin_P = score_N[0::2] - score_N[1::2]
        return torch.nn.functional.softplus(-margin_P).mean(), margin_P

    # --- keeping ---------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        weights = [one.clone() for one in self._weights]
        return {"weights": weights, "mean": self._mean_F.tolist(), "std": self._std_F.tolist(), "scaled": self._scaled}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._weights = [one.clone() for one in state["weights"]]
        self._mean_F, self._std_F = np.array(state["mean"]), np.array(state["std"])
        self._scaled = bool(state["scaled"])
