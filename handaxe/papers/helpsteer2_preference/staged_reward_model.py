"""Reward model that learns from ratings, then from preferences, with its weights extrapolated along the second fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from handaxe import judges, losses
from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine, Labelled, Loss, Pairs
from handaxe.core.records import Group, RatedGroup
from handaxe.judges.reward_model import RewardModel

__all__ = ["LOSSES", "Preference", "StagedRewardModel", "extrapolated", "staged_reward_model", "weights_only"]

Preference = Literal["plain", "margin", "scaled", "none"]
LOSSES: Mapping[str, Mapping[str, Any]] = {"plain": {}, "margin": {"margin": "strength"}, "scaled": {"scaled": True}}
"""Bradley-Terry loss -> arguments of `losses.preference.bradley_terry`."""
MOMENTS = "optimizer."


def extrapolated(first: Mapping[str, Any], second: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """Extrapolate weights from a first model through a second model.

        w = w_1 + f (w_2 - w_1)

    Args:
        first, second: state dicts of two engines with equal shapes; tensors of floating point are extrapolated.
        factor: f; 0 for the first, 1 for the second, above 1 beyond the second.

    Returns:
        The state dict of the second with these weights, without moments of the optimizer.

    Example:
        weights 1 and 2 with f 1.5  ->  2.5

    Paper: arXiv:2410.01257 (HelpSteer2-Preference), combination by ExPO (arXiv:2404.16792).
    Differs: nothing known.
    """
    start, end = weights_only(first)["tensors"], weights_only(second)["tensors"]
    tensors = {
        name: start[name] + factor * (own - start[name]) if own.is_floating_point() else own
        for name, own in end.items()
    }
    return {**second, "tensors": tensors}


def weights_only(state: Mapping[str, Any]) -> dict[str, Any]:
    """An engine's state dict without moments of the optimizer.

    Example:
        tensors weights.a and optimizer.a  ->  weights.a
    """
    return {**state, "tensors": {name: one for name, one in state["tensors"].items() if not name.startswith(MOMENTS)}}


def staged_reward_model(
    *,
    pairs: Pairs,
    preference: Preference = "scaled",
    ratings: bool = True,
    factor: float = 1.5,
    epochs: int = 2,
    learning_rate: float = 1e-3,
    second_rate: float = 1e-4,
) -> StagedRewardModel:
    """Make a reward model that is a copy of the policy, fitted in two stages.

        1. `ratings`: squared error to the ratings, the outcome of the scores
        2. `preference`: Bradley-Terry on `pairs`, from the weights of stage 1
        3. both: weights extrapolated by `factor`, see `extrapolated`

        plain   softplus(-D)        margin   softplus(-(D - m))        scaled   m softplus(-D)        D = r_w - r_l

    Args:
        pairs: preferences with strengths m.
        preference: loss of stage 2, or "none" to end after stage 1.
        ratings: False for stage 2 alone, from the policy's weights.
        factor: of the extrapolation; 1 for none.
        epochs: passes of a stage over its data.
        learning_rate: of a stage that starts from the policy's weights.
        second_rate: of stage 2 after stage 1, where it takes one pass.

    Returns:
        A judge with unbounded scores, Fittable and a Learner that only measures.

    Raises:
        InputError: neither stage, or another word.

    Example:
        D = 0.5: plain 0.4741; m = 2 scaled 0.9482, margin softplus(1.5) = 1.7014

    Paper: arXiv:2410.01257 (HelpSteer2-Preference): regression, scaled Bradley-Terry from its weights, extrapolation.
    Unconfirmed: the factor; near 1.5 by memory.
    Differs: ratings are of one attribute, as in the paper's best model; pairs without a preferred side are left out.
    """
    if preference not in (*LOSSES, "none") or (preference == "none" and not ratings):
        raise InputError(f"preference is {', '.join(LOSSES)}, or none with ratings, not {preference!r}")
    regression = losses.preference.label_regression(labels=("correct",))
    bradley_terry = losses.preference.bradley_terry(**LOSSES.get(preference, {}))

    def make(loss: Loss, pairs: Pairs | None, rows: int, passes: int, rate: float) -> RewardModel:
        return judges.reward_model(
            pairs=pairs, loss=loss, batch_size=rows, fit_epochs=passes, learning_rate=rate, learns=False
        )

    passes, rate = (1, second_rate) if ratings else (epochs, learning_rate)
    return StagedRewardModel(
        rating=make(regression, None, 4, epochs, learning_rate) if ratings else None,
        comparing=None if preference == "none" else make(bradley_terry, pairs, 16, passes, rate),
        factor=factor,
    )


class StagedRewardModel:
    """See `staged_reward_model`; `rating` and `comparing` are the models of the stages, the last one scores."""

    def __init__(self, *, rating: RewardModel | None, comparing: RewardModel | None, factor: float):
        self.rating = rating
        self.comparing = comparing
        self.factor = factor
        self._ends: tuple[dict[str, Any], dict[str, Any]] | None = None

    @property
    def _last(self) -> RewardModel:
        last = self.comparing or self.rating
        assert last is not None  # checked by the maker
        return last

    def begin(self, engine: Engine) -> None:
        """Copy the policy for each stage."""
        for one in (self.rating, self.comparing):
            if one is not None:
                one.begin(engine)

    def fit(self, labelled: Sequence[Labelled]) -> dict[str, float]:
        """Fit both stages and extrapolate. Metrics have the prefix rating/ or comparing/; labels is of the last one."""
        found = dict[str, float]()
        if self.rating is not None:
            found |= {f"rating/{name}": value for name, value in self.rating.fit(labelled).items()}
        if self.comparing is None:
            return found | {"labels": found["rating/labels"]}
        if self.rating is not None:
            first = self.rating.state_dict()["engine"]
            self.comparing.load_state_dict({"engine": weights_only(first)})
        metrics = self.comparing.fit(labelled)
        if self.rating is not None:
            self._ends = (first, self.comparing.state_dict()["engine"])
            self.extrapolate(self.factor)
        found |= {f"comparing/{name}": value for name, value in metrics.items()}
        return found | {"labels": metrics["labels"]}

    def extrapolate(self, factor: float) -> None:
        """Set the weights to those of the last fit's two stages, extrapolated by `factor`.

        Raises:
            InputError: there was no fit of two stages.
        """
        if self._ends is None or self.comparing is None:
            raise InputError("weights are extrapolated after a fit to ratings and to preferences")
        self.comparing.load_state_dict({"engine": extrapolated(*self._ends, factor)})

    def score(self, group: Group) -> np.ndarray:
        """[G] scores after the last stage."""
        return self._last.score(group)

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Measure; see `RewardModel.learn`."""
        return self._last.learn(groups, step=step)

    def state_dict(self) -> dict[str, Any]:
        return self._last.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._last.load_state_dict(state)
