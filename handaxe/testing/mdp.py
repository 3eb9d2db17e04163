"""Exact MDP: go on or stop, at most three times, small enough to compute every expectation without sampling.

At turn k the policy writes one token: 1 goes on, with probability sigmoid(logits[k]); 0 stops. The rollout ends after
the last turn, so there are N + 1 rollouts. With N = 3 and the default rewards:

    actions     reward of each turn     outcome
    0           0.1                     1
    1 0         -0.3 0.5                0
    1 1 0       -0.3 0.2 -0.4           2
    1 1 1       -0.3 0.2 0.7            -1

The length of a rollout depends on the policy: the case in which baselines by turn index are biased. Every G-tuple of
rollouts can be listed with its probability, so that the expectation of an estimator is a finite sum:

    exact_gradient(world)[k]              d/d logits[k] of E[outcome + sum of turn rewards]
    expected_gradient(world, credit, 2)[k]   E[1/G sum_i sum_t A_i,t * d log p(a_i,t) / d logits[k]]
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product as tuples
from typing import NamedTuple

import numpy as np

from handaxe.core.protocols import AdvantageTransform, Credit
from handaxe.core.records import Branch, Group, RatedGroup, Scores, Trajectory
from handaxe.testing.make_records import make_group, make_scores, make_trajectory

__all__ = ["Moments", "StopOrGo", "estimate_moments", "exact_gradient", "expected_gradient"]


TURN_ONE_START = 6
"""Index of the first token of turn 1: after user, template, the first action, template, reply, template."""


class Moments(NamedTuple):
    """Mean of a gradient estimate [N], and variance summed over the N entries."""

    mean: np.ndarray
    variance: float


@dataclass(frozen=True)
class StopOrGo:
    """World and policy; see the module. N = len(logits).

    logits       of going on, one for each turn
    stop, go     reward of turn k for its action
    outcome      of the rollout that stops at turn 0, 1, ..., N - 1, and of the one that never stops (N + 1)
    value        the critic's value of the state before turn k; any numbers: the estimate stays unbiased
    """

    logits: tuple[float, ...] = (0.4, -0.7, 1.1)
    stop: tuple[float, ...] = (0.1, 0.5, -0.4)
    go: tuple[float, ...] = (-0.3, 0.2, 0.7)
    outcome: tuple[float, ...] = (1.0, 0.0, 2.0, -1.0)
    value: tuple[float, ...] = (0.3, -0.2, 0.6)

    def actions(self, attempt: int) -> list[int]:
        """Return the actions of rollout `attempt` of the N + 1, by turn."""
        return [1] * attempt + [0] * (attempt < len(self.logits))

    def rewards(self, attempt: int) -> list[float]:
        """Return the reward of each turn, outcome excluded."""
        return [(self.stop, self.go)[action][k] for k, action in enumerate(self.actions(attempt))]

    def logp(self, attempt: int) -> np.ndarray:
        """Return the log-prob of each action: [turns taken]."""
        signs = 2 * np.array(self.actions(attempt)) - 1
        return -np.logaddexp(0.0, -signs * np.array(self.logits)[: len(signs)])

    def score(self, attempt: int) -> np.ndarray:
        """Return d log p / d logit of each action: [turns taken]."""
        actions = np.array(self.actions(attempt))
        return actions - 1 / (1 + np.exp(-np.array(self.logits)[: len(actions)]))

    def total(self, attempt: int) -> float:
        """Return the total reward."""
        return self.outcome[attempt] + sum(self.rewards(attempt))

    def group(self, attempts: Sequence[int], *, turn_rewards: bool = True) -> tuple[Group, Scores]:
        """Make siblings with these rollouts, each turn a token, with features value, collision, entropy and old_logp.

        Args:
            turn_rewards: False adds the rewards of turns to the outcome.
        """
        members = []
        for attempt in attempts:
            logp = self.logp(attempt)
            features = {
                "value": self.value[: len(logp)],
                "collision": np.exp(2 * logp) + (1 - np.exp(logp)) ** 2,
                "entropy": -np.exp(logp) * logp - (1 - np.exp(logp)) * np.log1p(-np.exp(logp)),
                "old_logp": logp,
            }
            layout = "Ut" + "tTt".join("p" * len(logp))
            members.append(make_trajectory(layouts=[layout], logp=logp, features=features))
        if turn_rewards:
            scores = make_scores([self.outcome[a] for a in attempts], turns=[self.rewards(a) for a in attempts])
        else:
            scores = make_scores([self.total(a) for a in attempts])
        return make_group(trajectories=members), scores


def exact_gradient(world: StopOrGo) -> np.ndarray:
    """Compute the true policy gradient [N]: the sum over rollouts of p * total * d log p."""
    out = np.zeros(len(world.logits))
    for attempt in range(len(world.logits) + 1):
        score = world.score(attempt)
        out[: len(score)] += np.exp(world.logp(attempt).sum()) * world.total(attempt) * score
    return out


def expected_gradient(world: StopOrGo, credit: Credit, size: int, *, turn_rewards: bool = True) -> np.ndarray:
    """Compute the expected gradient estimate of a credit [N], by listing every group of `size` siblings.

    Args:
        credit: under test; its loss is -A * logp summed over tokens, averaged over siblings.
        turn_rewards: False adds the rewards of turns to the outcome.
    """
    return estimate_moments(world, credit, size, turn_rewards=turn_rewards).mean


def estimate_moments(
    world: StopOrGo,
    credit: Credit,
    size: int,
    *,
    groups: int = 1,
    transform: AdvantageTransform | None = None,
    turn_rewards: bool = True,
    forks: bool = False,
) -> Moments:
    """Compute mean and variance of a credit's gradient estimate, by listing every batch of `groups` groups of `size`.

    Args:
        credit: under test; its loss is -A * logp summed over tokens, averaged over siblings and groups.
        size, groups: there are (N + 1) ** (size * groups) batches, without forks.
        transform: advantage transform applied to the batch before the loss.
        turn_rewards: False adds the rewards of turns to the outcome.
        forks: every rollout that reaches turn 1 is forked there; its branch is a sibling, and half of the group are
            branches.
    """
    mean, square = np.zeros(len(world.logits)), 0.0
    members = _forked(world) if forks else [((a,), float(np.exp(world.logp(a).sum()))) for a in _attempts(world)]
    for chosen in tuples(members, repeat=size * groups // (2 if forks else 1)):
        each = len(chosen) // groups
        batch = [
            _rated(world, credit, [one for one, _ in chosen[g * each :][:each]], turn_rewards) for g in range(groups)
        ]
        attempts = [attempt for one, _ in chosen for attempt in one]
        rows = [row for one in (batch if transform is None else transform(batch)) for (row,) in one.advantages.tokens]
        estimate = np.zeros(len(world.logits))
        for attempt, row in zip(attempts, rows, strict=True):
            score = world.score(attempt)
            estimate[: len(score)] += row[2 + 4 * np.arange(len(score))] * score / len(attempts)
        probability = float(np.prod([probability for _, probability in chosen]))
        mean += probability * estimate
        square += probability * float(estimate @ estimate)
    return Moments(mean, square - float(mean @ mean))


def _attempts(world: StopOrGo) -> range:
    return range(len(world.logits) + 1)


def _forked(world: StopOrGo) -> list[tuple[tuple[int, ...], float]]:
    """List every trunk with a branch at turn 1, if reached, and the joint probability."""
    found = list[tuple[tuple[int, ...], float]]()
    for trunk in _attempts(world):
        likely = float(np.exp(world.logp(trunk).sum()))
        if not trunk:
            found.append(((trunk,), likely))
            continue
        for branch in _attempts(world)[1:]:
            found.append(((trunk, branch), likely * float(np.exp(world.logp(branch)[1:].sum()))))
    return found


def _rated(world: StopOrGo, credit: Credit, members: Sequence[tuple[int, ...]], turn_rewards: bool) -> RatedGroup:
    group, scores = world.group([attempt for one in members for attempt in one], turn_rewards=turn_rewards)
    place, siblings = 0, list[Trajectory]()
    for one in members:
        trunk, *branches = group.trajectories[place : place + len(one)]
        siblings += [trunk, *(replace(each, branch_of=Branch(trunk.id, 0, TURN_ONE_START)) for each in branches)]
        place += len(one)
    group = replace(group, trajectories=tuple(siblings))
    return RatedGroup.of(group, scores, credit(group, scores))
