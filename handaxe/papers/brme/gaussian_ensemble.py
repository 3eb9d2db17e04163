"""Reward model with several Gaussian heads on one trunk, fitted to the scores of a Bradley-Terry model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from handaxe import judges, losses
from handaxe.core.errors import InputError
from handaxe.core.heads import Head
from handaxe.core.protocols import Engine, Labelled
from handaxe.core.records import Group, RatedGroup
from handaxe.judges.reward_model import RewardModel
from handaxe.papers.brme.robust_score import RobustScore, Worst, robust_score
from handaxe.selection.pairs.ordered import ordered

__all__ = ["GaussianEnsemble", "gaussian_ensemble"]

HIDDEN = 32
LABEL = "correct"
LEAST = 1e-6
"""Least standard deviation of the first model's scores."""


def gaussian_ensemble(
    *,
    heads: int = 5,
    nominal_weight: float = 0.6,
    worst: Worst = "rollout",
    channel: str | None = None,
    epochs: int = 3,
    learning_rate: float = 3e-4,
    seed: int = 0,
) -> GaussianEnsemble:
    """Make a reward model with an uncertainty set, fitted in two stages.

        1. one scalar head on a copy of the policy, by Bradley-Terry on ordered pairs
        2. n heads on another copy, each with mean mu_i and standard deviation s_i, by the Gaussian likelihood of the
           scores of stage 1, less their mean and over their standard deviation in the data of the fit
        score = mixture of `robust_score`

    Args:
        heads: n; 5 in the paper.
        nominal_weight, worst: see `robust_score`.
        channel: of the scores with the outcome that makes the pairs; None: their outcome.
        epochs: passes of a stage over its data.
        learning_rate: of both stages.
        seed: of the initialization of the heads.

    Returns:
        A judge, Fittable and a Learner that only measures.

    Raises:
        InputError: fewer than two heads.

    Example:
        gaussian_ensemble(heads=3): stage 2 has 6 outputs

    Paper: arXiv:2409.15360 (BRME), Bayesian reward model ensembles.
    Unconfirmed: the loss of stage 2. Summaries name a squared error to the first model's reward, which gives a standard
    deviation no target; the likelihood gives one.
    Differs: heads share a hidden layer and differ in their initialization.
    """
    if heads < 2:
        raise InputError(f"an ensemble has 2 heads or more, not {heads}")
    options: dict[str, Any] = {"fit_epochs": epochs, "learning_rate": learning_rate, "learns": False}
    first = judges.reward_model(pairs=ordered(channel=channel), batch_size=16, **options)
    last = judges.reward_model(
        head=Head(outputs=2 * heads, hidden=(HIDDEN,), init="normal", seed=seed),
        loss=losses.preference.gaussian_nll(labels=(LABEL,) * heads),
        batch_size=4,
        **options,
    )
    return GaussianEnsemble(first, last, nominal_weight, worst)


class GaussianEnsemble:
    """See `gaussian_ensemble`; `first` is the model of stage 1, `last` that of stage 2."""

    def __init__(self, first: RewardModel, last: RewardModel, weight: float, worst: Worst):
        self.first = first
        self.last = last
        self.nominal_weight = weight
        self._worst = worst

    def begin(self, engine: Engine) -> None:
        """Copy the policy for each stage."""
        self.first.begin(engine)
        self.last.begin(engine)

    def fit(self, labelled: Sequence[Labelled]) -> dict[str, float]:
        """Fit both stages; metrics of the second, and of the first with the prefix pairs/."""
        found = {f"pairs/{name}": value for name, value in self.first.fit(labelled).items()}
        scores = [self.first.score(group) for group, _ in labelled]
        every = np.concatenate([np.zeros(0), *scores])
        mean, std = (float(every.mean()), max(float(every.std()), LEAST)) if len(every) else (0.0, 1.0)
        targets = [
            (group, replace(own, outcome=(score_G - mean) / std, channels={}, turns=None))
            for (group, own), score_G in zip(labelled, scores, strict=True)
        ]
        return found | self.last.fit(targets)

    def robust(self, group: Group) -> RobustScore:
        """All scores of `robust_score`."""
        return robust_score(self.last.outputs(group), nominal_weight=self.nominal_weight, worst=self._worst)

    def score(self, group: Group) -> np.ndarray:
        """[G] mixed scores."""
        return self.robust(group).mixed_G

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Measure.

        Returns:
            Metrics of the first head as of `RewardModel.learn`; disagreement, the mean over rollouts of nominal less
            worst; spread_nominal, the mean standard deviation of the nominal head.
        """
        robust = [self.robust(one.group) for one in groups]
        gap = np.concatenate([np.zeros(0), *(one.nominal_G - one.worst_G for one in robust)])
        spread = np.concatenate([np.zeros(0), *(one.spread_G for one in robust)])
        return {
            **self.last.learn(groups, step=step),
            "disagreement": float(gap.mean()) if len(gap) else 0.0,
            "spread_nominal": float(spread.mean()) if len(spread) else 0.0,
        }

    def state_dict(self) -> dict[str, Any]:
        return self.last.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.last.load_state_dict(state)
