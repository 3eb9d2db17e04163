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

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product as tuples

import numpy as np

from handaxe.records import Group, Scores
from handaxe.slots import Credit
from handaxe.testing.records import make_group, make_scores, make_trajectory

__all__ = ["StopOrGo", "expected", "gradient"]


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

    def group(self, attempts: tuple[int, ...], *, turn_rewards: bool = True) -> tuple[Group, Scores]:
        """Siblings that made these attempts, each turn a token, with features value, collision and old_logp.

        Args:
            turn_rewards: False adds the rewards of turns into the outcome.
        """
        members = []
        for attempt in attempts:
            logp = self.logp(attempt)
            features = {
                "value": self.value[: len(logp)],
                "collision": np.exp(2 * logp) + (1 - np.exp(logp)) ** 2,
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
    out = np.zeros(len(world.logits))
    for attempts, probability in _groups(world, size):
        advantages = credit(*world.group(attempts, turn_rewards=turn_rewards))
        for attempt, (row,) in zip(attempts, advantages.tokens):
            score = world.score(attempt)
            places = 2 + 4 * np.arange(len(score))
            out[: len(score)] += probability / size * row[places] * score
    return out


def _groups(world: StopOrGo, size: int) -> Iterator[tuple[tuple[int, ...], float]]:
    for attempts in tuples(range(len(world.logits) + 1), repeat=size):
        yield attempts, float(np.exp(sum(world.logp(attempt).sum() for attempt in attempts)))
