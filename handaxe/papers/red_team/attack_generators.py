"""Generators of attacks: a fixed list, random mutation, and mutation guided by the detector's verdicts."""

from __future__ import annotations

from collections import Counter
from typing import Protocol

import numpy as np

from handaxe.papers.red_team.attack_texts import SEEDS, STRATEGIES, AttackText, mutate, seed_attacks

__all__ = ["AttackGenerator", "FixedList", "GuidedMutation", "RandomMutation"]


class AttackGenerator(Protocol):
    """Proposes attacks, and learns from verdicts."""

    def propose(self) -> AttackText: ...

    def learn(self, attack: AttackText, *, found: bool) -> None: ...


class FixedList:
    """The seeds in order, again from the first after the last; the manual baseline."""

    def __init__(self) -> None:
        self._seeds = seed_attacks()
        self._next = 0

    def propose(self) -> AttackText:
        """Return the next seed."""
        found = self._seeds[self._next % len(self._seeds)]
        self._next += 1
        return found

    def learn(self, attack: AttackText, *, found: bool) -> None:
        """Learn nothing."""


class RandomMutation:
    """A random seed with two random strategies."""

    def __init__(self, rng: np.random.Generator):
        self._rng = rng

    def propose(self) -> AttackText:
        """Return a mutated seed."""
        names = self._rng.choice(list(STRATEGIES), 2, replace=False)
        return _mutated(_seed(self._rng, list(SEEDS)), names.tolist())

    def learn(self, attack: AttackText, *, found: bool) -> None:
        """Learn nothing."""


class GuidedMutation:
    """Mutates seeds of kinds that are not found yet, by the strategies that Thompson sampling ranks first.

        theta_s ~ Beta(1 + successes_s, 1 + failures_s);    the two strategies with the largest theta

    An attack is proposed once, as long as untried combinations turn up in `tries` draws. A found violation counts as a
    success of each strategy of the attack.

    Args:
        rng: of all draws.
        tries: draws of an attack that was not proposed yet.

    Example:
        after many successes of authority, most attacks have the form of authority

    Paper: the automated red-teaming framework (number 13), attack generation from seeds.
    Unconfirmed: the choice of strategies; the abstract was read.
    """

    def __init__(self, rng: np.random.Generator, *, tries: int = 20):
        self._rng = rng
        self._tries = tries
        self._successes: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._proposed: set[AttackText] = set()
        self._found: set[str] = set()

    def propose(self) -> AttackText:
        """Return an attack on an open kind, or on any kind if all kinds are found."""
        kinds = [kind for kind in SEEDS if kind not in self._found] or list(SEEDS)
        attack = self._draw(kinds)
        for _ in range(self._tries):
            if attack not in self._proposed:
                break
            attack = self._draw(kinds)
        self._proposed.add(attack)
        return attack

    def learn(self, attack: AttackText, *, found: bool) -> None:
        """Count a success or a failure of the strategies."""
        for one in attack.strategies:
            (self._successes if found else self._failures)[one] += 1
        if found:
            self._found.add(attack.kind)

    def _draw(self, kinds: list[str]) -> AttackText:
        theta = {one: self._rng.beta(1 + self._successes[one], 1 + self._failures[one]) for one in STRATEGIES}
        best = sorted(theta, key=lambda one: -theta[one])[:2]
        return _mutated(_seed(self._rng, kinds), best)


def _seed(rng: np.random.Generator, kinds: list[str]) -> AttackText:
    return AttackText(kinds[rng.integers(len(kinds))], int(rng.integers(2)))


def _mutated(attack: AttackText, strategies: list[str]) -> AttackText:
    for one in strategies:
        attack = mutate(attack, one)
    return attack
