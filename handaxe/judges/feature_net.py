"""Scores rollouts by a small network on features of the rollout, trained on pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine, Labelled, Pairs
from handaxe.core.records import Group, Pair, RatedGroup, Trajectory
from handaxe.judges.labelled_groups import ranking_metrics, with_zero_credit
from handaxe.judges.small_net import SmallNet, minimise

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["FeatureNet", "RolloutFeatures", "feature_net"]

RolloutFeatures = Callable[[Trajectory], Sequence[float]]
"""Rollout -> F numbers, the same F for all."""


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
    net = SmallNet(size, 1, hidden=hidden, seed=np.random.default_rng(seed))
    return FeatureNet(features, pairs, net, _Options(steps, learning_rate, weight_decay, learns, channel))


class _Options(NamedTuple):
    """Arguments of `feature_net`."""

    steps: int
    learning_rate: float
    weight_decay: float
    learns: bool
    channel: str | None


class FeatureNet:
    """See `feature_net`."""

    def __init__(self, features: RolloutFeatures, pairs: Pairs, net: SmallNet, options: _Options):
        self._features = features
        self._pairs = pairs
        self._net = net
        self._options = options
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
        return np.array([float(self._net.values(row_1F)) for row_1F in self._rows(trajectories)[:, None]])

    def _rows(self, trajectories: Sequence[Trajectory]) -> np.ndarray:
        rows = [np.asarray(self._features(one), np.float64) for one in trajectories]
        if wrong := {row.shape for row in rows} - {(self._net.size,)}:
            raise InputError(f"features have shapes {sorted(wrong)}; the network takes {self._net.size} numbers")
        return np.stack(rows)

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
        input_NF = self._rows([one for pair in pairs for one in (pair.chosen, pair.rejected)])
        if not self._scaled:
            self._net.scale(input_NF)
            self._scaled = True
        rate, decay = self._options.learning_rate, self._options.weight_decay
        loss = partial(self._loss, input_NF)
        minimise(loss, self._net, steps=self._options.steps, learning_rate=rate, weight_decay=decay)
        score_N = self._net.values(input_NF)[:, 0]
        right = float((score_N[0::2] > score_N[1::2]).mean())
        return {"loss": float(loss().detach()), "accuracy": right, "labels": float(len(pairs))}

    def _loss(self, input_NF: np.ndarray) -> Tensor:
        score_N = self._net(input_NF)[:, 0]
        return torch.nn.functional.softplus(score_N[1::2] - score_N[0::2]).mean()

    # --- keeping ---------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        return {**self._net.state_dict(), "scaled": self._scaled}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._net.load_state_dict(state)
        self._scaled = bool(state["scaled"])
