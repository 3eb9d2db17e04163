"""Training of an auxiliary policy on its turns in the rollouts of the policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Credit, HiddenMeasure, Loss
from handaxe.core.records import Group, RatedGroup, Scores, Trajectory
from handaxe.ops.seeds import generator
from handaxe.training.loop.aux_policy import AuxLearner
from handaxe.training.loop.config import Updates
from handaxe.training.loop.rate import measured_trajectories
from handaxe.training.loop.schedule import rate_at
from handaxe.training.loop.update import update

__all__ = ["AuxTrainer", "RoleReward", "role_group", "shared_outcome"]

RoleReward = Callable[[RatedGroup], np.ndarray]
"""Rated group of the policy -> [G] outcome of the role in each rollout."""
UPDATES = Updates()


def shared_outcome(rated: RatedGroup) -> np.ndarray:
    """Give the role the outcome of its rollout, [G].

    Example:
        outcomes 1 and 0 of two rollouts with a verifier -> the verifier's outcomes are 1 and 0
    """
    return rated.scores.outcome


def role_group(rated: RatedGroup, role: str, reward: RoleReward = shared_outcome) -> tuple[Group, Scores]:
    """Collect the trajectories of a role in a group of rollouts, with their outcomes.

        role trajectories   { (aux_i, R_i) : rollout i scored, aux_i = its auxiliary trajectory of this role }

    A rollout in which the role took no turn is left out. A trajectory has one sequence per turn; its mask has the
    tokens of the role alone, so that no token of the policy enters the role's denominators, and vice versa.

    Example:
        three rollouts with outcomes 1, 0 and 1, the second without a turn of the role -> two trajectories, 1 and 1
    """
    outcome_G = reward(rated)
    found: list[tuple[Trajectory, float]] = [
        (aux, float(outcome_G[i])) for i, one in enumerate(rated.group) for aux in one.aux_turns if aux.by == role
    ]
    group = replace(rated.group, trajectories=tuple(aux for aux, _ in found))
    return group, Scores(np.array([outcome for _, outcome in found], np.float64))


class AuxTrainer(AuxLearner):
    """Learner that trains an auxiliary policy on the turns of its role, once a step, before the update of the policy.

        batch of the role = its trajectories of the step, scored by `reward`, with advantages by `credit`

    Batch, denominators and optimizer are separate from those of the policy. Rollouts without a score do not train.
    Turns that forks share train once for each fork.

    Args:
        role: name of the auxiliary policy.
        credit, loss: of its update, such as those of the policy.
        learning_rate: a number, or a function of the step.
        updates: epochs, minibatches and features. It has no critic.
        reward: outcome of the role in each rollout.
        seed: of the minibatches.
        clip_norm: of the copy.

    Raises:
        InputError: `updates` asks for values of a critic; and as `AuxLearner`.

    Example:
        verifier = AuxTrainer("verifier", credit=group_norm(), loss=loss, learning_rate=1e-4)
        verifier.begin(engine)
        train(learners=[verifier], run=RunConfig(aux_policies={"verifier": AuxPolicy(verifier.engine, ...)}), ...)

    Idea: a role of an agent as a separate policy with the outcome of the agent as reward.
    """

    def __init__(
        self,
        role: str,
        *,
        credit: Credit,
        loss: Loss,
        learning_rate: float | Callable[[int], float],
        updates: Updates = UPDATES,
        reward: RoleReward = shared_outcome,
        seed: int = 0,
        clip_norm: float = 1.0,
    ):
        if "value" in updates.annotate:
            raise InputError(f"the {role} cannot train with a critic: choose a method without one")
        super().__init__(reference="ref_logp" in updates.annotate, clip_norm=clip_norm)
        self.role = role
        self._credit, self._loss = credit, loss
        self._reward = reward
        self._learning_rate = learning_rate
        self._updates = updates
        self._seed = seed

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Take the optimizer steps of a training step.

        Returns:
            Metrics of `training.loop.update`, and "trajectories", the number of trajectories of the role.
        """
        played = [role_group(one, self.role, self._reward) for one in groups]
        rated = [self._rated(group, scores) for group, scores in played if len(group)]
        result = update(
            self.engine,
            self._loss,
            rated,
            updates=self._updates,
            learning_rate=rate_at(self._learning_rate, step),
            rng=generator(self._seed, "aux", self.role, step),
            step=step,
        )
        return {**result.metrics, "trajectories": float(sum(len(one.group) for one in rated))}

    def _rated(self, group: Group, scores: Scores) -> RatedGroup:
        names: Sequence[str | HiddenMeasure] = self._updates.annotate
        group = replace(group, trajectories=tuple(measured_trajectories(list(group), self.engine, names)))
        return RatedGroup.of(group, scores, self._credit(group, scores))
