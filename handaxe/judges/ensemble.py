"""Several judges as one.

Kept: ensembles of any judges, also of users.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine, Fittable, FromPolicy, Judge, Labelled, Learner, Stateful, StepJudge
from handaxe.core.records import Group, RatedGroup, Trajectory

__all__ = ["Ensemble", "ensemble"]

Combine = Literal["mean", "median", "min", "pessimistic"]
COMBINE = MappingProxyType(
    {
        "mean": lambda score_MG: score_MG.mean(0),
        "median": lambda score_MG: np.median(score_MG, axis=0),
        "min": lambda score_MG: score_MG.min(0),
        "pessimistic": lambda score_MG: score_MG.mean(0) - score_MG.std(0),
    }
)
"""Name -> [M, ...] scores of members to [...]."""


def ensemble(*, members: Sequence[Judge], combine: Combine = "mean", centred: bool = False) -> Ensemble:
    """Combine the scores of several judges.

        score_i = mean, median or minimum over members m of s_mi, or mean - standard deviation ("pessimistic")

    Reward models that learn from pairs are known up to a constant. With `centred`, the mean of a member's scores over
    the rollouts that it last learned from is subtracted first, so that a constant on one member changes nothing.

    Args:
        members: at least one judge.
        combine: see above; the standard deviation is that of the population.
        centred: subtract each member's own mean; 0 before it has learned.

    Returns:
        A judge that is a StepJudge if all members are, and a Learner and Fittable if a member is: every member learns
        from the same groups. Metrics have the prefix "INDEX/", with "spread", the mean over rollouts of the members'
        standard deviation.

    Raises:
        InputError: no member, or another word.

    Example:
        scores 1.0, 0.4 and 0.1: mean 0.5, median 0.4, min 0.1, pessimistic 0.5 - 0.3742 = 0.1258

    Paper: arXiv:2312.09244, ensembles of reward models.
    Differs: nothing.
    """
    if not members or combine not in COMBINE:
        raise InputError(f"an ensemble has a member or more, and combines by {', '.join(COMBINE)}, not {combine!r}")
    return Ensemble(tuple(members), combine, centred)


class Ensemble:
    """See `ensemble`."""

    def __init__(self, members: tuple[Judge, ...], combine: Combine, centred: bool):
        self.members = members
        self._combine = COMBINE[combine]
        self._centred = centred
        self._means = [0.0] * len(members)

    def begin(self, engine: Engine) -> None:
        """Begin every member that begins from the policy."""
        for member in self.members:
            if isinstance(member, FromPolicy):
                member.begin(engine)

    def score(self, group: Group) -> np.ndarray:
        """[G] combined scores."""
        return np.asarray(self._combine(self.member_scores(group)), np.float64)

    def member_scores(self, group: Group) -> np.ndarray:
        """[M, G] scores of the members, centred if the ensemble is."""
        score_MG = np.array([member.score(group) for member in self.members], np.float64)
        return score_MG - np.array(self._means)[:, None] if self._centred else score_MG

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] combined scores of turns.

        Raises:
            InputError: a member is no StepJudge.
        """
        found = []
        for member in self.members:
            if not isinstance(member, StepJudge):
                raise InputError(
                    f"{type(member).__name__} scores no turns: an ensemble scores turns if every member does"
                )
            found.append(member.score_steps(group))
        return tuple(np.asarray(self._combine(np.array(own)), np.float64) for own in zip(*found, strict=True))

    def compare(self, pairs: Sequence[tuple[Trajectory, Trajectory]]) -> np.ndarray:
        """[P] probabilities that the first is better: the sigmoid of the difference of the combined scores."""
        sides = [self.score(Group(a.task, (a, b))) for a, b in pairs]
        return np.array([1 / (1 + np.exp(b - a)) for a, b in sides], np.float64)

    def fit(self, labelled: Sequence[Labelled]) -> dict[str, float]:
        """Fit every member that learns from labels."""
        metrics = {
            f"{index}/{name}": value
            for index, member in enumerate(self.members)
            if isinstance(member, Fittable)
            for name, value in member.fit(labelled).items()
        }
        self._measure([group for group, _ in labelled])
        return metrics

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Every member learns from the groups; see `ensemble` for the metrics."""
        spreads = [self.member_scores(one.group).std(0) for one in groups if len(one.group)]
        metrics = {"spread": float(np.concatenate(spreads).mean()) if spreads else 0.0}
        for index, member in enumerate(self.members):
            if isinstance(member, Learner):
                metrics |= {f"{index}/{name}": value for name, value in member.learn(groups, step=step).items()}
        self._measure([one.group for one in groups])
        return metrics

    def _measure(self, groups: Sequence[Group]) -> None:
        """Keep the mean score of each member over the groups."""
        if self._centred and groups:
            self._means = [float(np.concatenate([one.score(g) for g in groups]).mean()) for one in self.members]

    def state_dict(self) -> dict[str, Any]:
        members = [one.state_dict() if isinstance(one, Stateful) else None for one in self.members]
        return {"members": members, "means": list(self._means)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for member, own in zip(self.members, state["members"], strict=True):
            if isinstance(member, Stateful):
                member.load_state_dict(own)
        self._means = list(state["means"])
