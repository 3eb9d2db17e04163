"""An exact world: go on or stop, at most three times, small enough to know every expectation without sampling.

At turn k the policy writes one token: 1 goes on, with probability sigmoid(logits[k]); 0 stops. After the last turn the
attempt is over anyway, so there are N + 1 attempts. With N = 3 and the default rewards:

    actions     reward of each turn     outcome
    0           0.1                     1
    1 0         -0.3 0.5                0
    1 1 0       -0.3 0.2 -0.4           2
    1 1 1       -0.3 0.2 0.7            -1

How long an attempt is depends on the policy: exactly where baselines by turn index go wrong. Every G-tuple of attempts
can be listed with its probability, so that what an estimator gives on average is a finite sum:

    gradient(world)[k]              d/d logits[k] of E[outcome + sum of turn rewards]
    expected(world, credit, 2)[k]   E[1/G sum_i sum_t A_i,t * d log p(a_i,t) / d logits[k]]
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product as tuples
from typing import NamedTuple

import numpy as np

from handaxe.core.protocols import Credit, Shape
from handaxe.core.records import Branch, Group, Rated, Scores, Trajectory
from handaxe.testing.records import make_group, make_scores, make_trajectory

__all__ = ["Moments", "StopOrGo", "estimate_moments", "expected", "gradient"]


AT_ONE = 6
"""The token at which turn 1 begins: user, template, the first action, template, reply, template."""


class Moments(NamedTuple):
    """What an estimate of the gradient is on average [N], and its variance: the sum of those of its N entries."""

    mean: np.ndarray
    variance: float


@dataclass(frozen=True)
class StopOrGo:
    """The world and its policy; see the module. N = len(logits).

    logits       one a turn, of going on
    stop, go     reward of turn k for the action taken in it
    outcome      of the attempt that stops at turn 0, 1, ..., N - 1, and of the one that never stops (N + 1)
    value        the critic's value of the state before turn k, any numbers; without bias they do not matter
    """

    logits: tuple[float, ...] = (0.4, -0.7, 1.1)
    stop: tuple[float, ...] = (0.1, 0.5, -0.4)
    go: tuple[float, ...] = (-0.3, 0.2, 0.7)
    outcome: tuple[float, ...] = (1.0, 0.0, 2.0, -1.0)
    value: tuple[float, ...] = (0.3, -0.2, 0.6)

    def actions(self, attempt: int) -> list[int]:
        """What attempt number `attempt` of the N + 1 does, turn by turn."""
        return [1] * attempt + [0] * (attempt < len(self.logits))

    def rewards(self, attempt: int) -> list[float]:
        """Its reward in each turn, outcome not included."""
        return [(self.stop, self.go)[action][k] for k, action in enumerate(self.actions(attempt))]

    def logp(self, attempt: int) -> np.ndarray:
        """[turns taken] log-prob of each of its actions."""
        signs = 2 * np.array(self.actions(attempt)) - 1
        return -np.logaddexp(0.0, -signs * np.array(self.logits)[: len(signs)])

    def score(self, attempt: int) -> np.ndarray:
        """[turns taken] d log p(action k) / d logits[k]; the derivative by any other logit is 0."""
        actions = np.array(self.actions(attempt))
        return actions - 1 / (1 + np.exp(-np.array(self.logits)[: len(actions)]))

    def total(self, attempt: int) -> float:
        """All it earns."""
        return self.outcome[attempt] + sum(self.rewards(attempt))

    def group(self, attempts: Sequence[int], *, turn_rewards: bool = True) -> tuple[Group, Scores]:
        """Siblings that made these attempts, each turn a token, with features value, collision, entropy and old_logp.

        Args:
            turn_rewards: False adds the rewards of turns into the outcome.
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


def gradient(world: StopOrGo) -> np.ndarray:
    """[N] the true policy gradient: sum over attempts of p * total * d log p."""
    out = np.zeros(len(world.logits))
    for attempt in range(len(world.logits) + 1):
        score = world.score(attempt)
        out[: len(score)] += np.exp(world.logp(attempt).sum()) * world.total(attempt) * score
    return out


def expected(world: StopOrGo, credit: Credit, size: int, *, turn_rewards: bool = True) -> np.ndarray:
    """[N] what the gradient estimate of a credit is on average, by listing every group of `size` siblings.

    Args:
        credit: under test; its loss is -A * logp summed over tokens, averaged over siblings.
        turn_rewards: False adds the rewards of turns into the outcome.
    """
    return estimate_moments(world, credit, size, turn_rewards=turn_rewards).mean


def estimate_moments(
    world: StopOrGo,
    credit: Credit,
    size: int,
    *,
    groups: int = 1,
    shape: Shape | None = None,
    turn_rewards: bool = True,
    forks: bool = False,
) -> Moments:
    """Mean and variance of the gradient estimate of a credit, by listing every batch of `groups` groups of `size`.

    Args:
        credit: under test; its loss is -A * logp summed over tokens, averaged over siblings and groups.
        size, groups: there are (N + 1) ** (size * groups) batches, without forks.
        shape: what the batch's advantages go through before the loss.
        turn_rewards: False adds the rewards of turns into the outcome.
        forks: every attempt that gets to turn 1 is forked there; its branch is a sibling, and half of the group's
            places are branches'.
    """
    mean, square = np.zeros(len(world.logits)), 0.0
    members = _forked(world) if forks else [((a,), float(np.exp(world.logp(a).sum()))) for a in _attempts(world)]
    for chosen in tuples(members, repeat=size * groups // (2 if forks else 1)):
        each = len(chosen) // groups
        batch = [
            _rated(world, credit, [one for one, _ in chosen[g * each :][:each]], turn_rewards) for g in range(groups)
        ]
        attempts = [attempt for one, _ in chosen for attempt in one]
        rows = [row for one in (batch if shape is None else shape(batch)) for (row,) in one.advantages.tokens]
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
    """A trunk with the branch that leaves it at turn 1, where it gets there, and how likely the two are."""
    found = list[tuple[tuple[int, ...], float]]()
    for trunk in _attempts(world):
        likely = float(np.exp(world.logp(trunk).sum()))
        if not trunk:
            found.append(((trunk,), likely))
            continue
        for branch in _attempts(world)[1:]:
            found.append(((trunk, branch), likely * float(np.exp(world.logp(branch)[1:].sum()))))
    return found


def _rated(world: StopOrGo, credit: Credit, members: Sequence[tuple[int, ...]], turn_rewards: bool) -> Rated:
    group, scores = world.group([attempt for one in members for attempt in one], turn_rewards=turn_rewards)
    place, siblings = 0, list[Trajectory]()
    for one in members:
        trunk, *branches = group.trajectories[place : place + len(one)]
        siblings += [trunk, *(replace(each, branch_of=Branch(trunk.id, 0, AT_ONE)) for each in branches)]
        place += len(one)
    group = replace(group, trajectories=tuple(siblings))
    return Rated(group, scores, credit(group, scores), np.ones(len(group), bool))
