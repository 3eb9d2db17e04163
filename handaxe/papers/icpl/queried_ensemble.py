"""Reward models that learn beside the policy, from a few preferences asked where the models disagree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.heads import Head
from handaxe.core.protocols import Engine, Labelled, Pairs, StatefulEngine
from handaxe.core.records import Group, Pair, RatedGroup, Scores
from handaxe.judges.ensemble import ensemble
from handaxe.judges.labelled_groups import with_zero_credit
from handaxe.judges.reward_model import RewardModel, reward_model
from handaxe.papers.icpl.preference_queries import preference_queries
from handaxe.selection.pairs.ordered import ordered
from handaxe.selection.parts.stored import dump, load, stored_sibling

__all__ = ["QueriedEnsemble", "queried_ensemble"]


def queried_ensemble(
    *,
    members: int = 3,
    engines: Sequence[StatefulEngine] | None = None,
    first: int = 17,
    per_step: int = 4,
    most: int = 49,
    disagreement: bool = True,
    channel: str | None = "correct",
    epochs: int = 1,
    fit_epochs: int = 8,
    learning_rate: float = 3e-4,
) -> QueriedEnsemble:
    """Make a judge from reward models with a growing set of queried pairs, on which all of them learn.

        score_i        = mean over members m of s_mi
        disagreement   = standard deviation over m of sigmoid(s_m,chosen - s_m,rejected)         of a pair

    `fit` asks the first pairs, spread over groups. Each `learn` asks the pairs of the step with the greatest
    disagreement before any update, and trains every member on all pairs asked so far.

    Args:
        members: reward models, copies of the policy with heads of different seeds; 3 in PrefPPO.
        engines: models of the members in their place, each with a head named "reward".
        first: most queries of `fit`.
        per_step: queries of a step.
        most: queries in total, `first` or more.
        disagreement: False asks pairs spread over groups in every step, too.
        channel: of the scores, with the hidden measure that answers; None: their outcome.
        epochs, fit_epochs: passes over the pairs in `learn`, over all that were asked so far, and in `fit`.
        learning_rate: of AdamW.

    Returns:
        A judge with unbounded scores; Fittable, and a Learner with the metrics of `judges.ensemble`, and queries (asked
        so far), disagreement (mean of the step's asked pairs; 0 without one) and disagreement_all (of all its pairs).
        Weights, moments and asked pairs are in its state.

    Raises:
        InputError: a number out of range.

    Example:
        two members: 0.9 and 0.1 for pair A, 0.6 and 0.6 for pair B: disagreements 0.4 and 0; one query asks A

    Paper: arXiv:2410.17233 (ICPL), its comparison PrefPPO, after arXiv:2111.03026 (B-Pref).
    Differs: pairs are two rollouts of one task with unequal success; PrefPPO compares segments of any two, also equal
        ones, after a stage of exploration without reward.
    """
    if members < 1 or min(first, per_step) < 0 or not max(1, first) <= most or min(epochs, fit_epochs) < 1:
        raise InputError(
            "give members, epochs and fit_epochs from 1, first and per_step from 0, and most from 1 and from first, "
            f"not {members}, {epochs}, {fit_epochs}, {first}, {per_step} and {most}"
        )
    asked = _AskedPairs()
    given = [None] * members if engines is None else engines
    made = [
        reward_model(
            engine=engine,
            head=Head(init="normal", hidden=(32,), seed=seed),
            pairs=asked,
            channel=channel,
            batch_size=32,
            epochs=epochs,
            fit_epochs=fit_epochs,
            learning_rate=learning_rate,
        )
        for seed, engine in enumerate(given)
    ]
    return QueriedEnsemble(made, asked, first, per_step, most, disagreement, ordered(channel=channel))


class _AskedPairs:
    """Pairs asked so far, as the maker of pairs of every member."""

    def __init__(self) -> None:
        self.sides: list[tuple[RatedGroup, RatedGroup]] = []

    def __call__(self, rated: Sequence[RatedGroup]) -> list[Pair]:
        del rated
        return [Pair(chosen.group[0], rejected.group[0]) for chosen, rejected in self.sides]

    def add(self, pair: Pair, step: int) -> None:
        group = Group(pair.chosen.task, (pair.chosen, pair.rejected), step)
        (rated,) = with_zero_credit([(group, Scores(np.array([1.0, 0.0])))])
        self.sides.append((stored_sibling(rated, 0), stored_sibling(rated, 1)))


class QueriedEnsemble:
    """See `queried_ensemble`."""

    def __init__(
        self,
        members: Sequence[RewardModel],
        asked: _AskedPairs,
        first: int,
        per_step: int,
        most: int,
        disagreement: bool,
        pairs: Pairs,
    ):
        self.members = tuple(members)
        self._every = ensemble(members=self.members)
        self._asked = asked
        self._first, self._most = first, most
        self._per_step = per_step
        self._by_disagreement = disagreement
        self._pairs = pairs

    @property
    def queries(self) -> int:
        """Number of pairs asked so far."""
        return len(self._asked.sides)

    def begin(self, engine: Engine) -> None:
        """Begin every member as a copy of the policy."""
        self._every.begin(engine)

    def score(self, group: Group) -> np.ndarray:
        """[G] mean scores."""
        return self._every.score(group)

    def disagreements(self, pairs: Sequence[Pair]) -> np.ndarray:
        """[P] standard deviation over the members of the probability that the first rollout is better."""
        sides = [(pair.chosen, pair.rejected) for pair in pairs]
        return np.std([one.compare(sides) for one in self.members], axis=0)

    def fit(self, labelled: Sequence[Labelled]) -> dict[str, float]:
        """Ask the first pairs, and train every member on them; metrics of `judges.ensemble`, and queries."""
        if self._first:
            self._ask(preference_queries(pairs=ordered(), queries=self._first)(with_zero_credit(labelled)), 0)
        return {**self._every.fit(labelled), "queries": float(self.queries)}

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Ask pairs of a step, and train every member on all pairs asked so far."""
        pairs = self._pairs(groups)
        spread_P = self.disagreements(pairs) if pairs else np.zeros(0)
        count = min(self._per_step, self._most - self.queries)
        largest = np.argsort(-spread_P, kind="stable")[:count]
        chosen, own_P = [pairs[i] for i in largest], spread_P[largest]
        if count and not self._by_disagreement:
            chosen = preference_queries(pairs=self._pairs, queries=count)(groups)
            own_P = self.disagreements(chosen) if chosen else np.zeros(0)
        self._ask(chosen, step)
        return {
            **self._every.learn(groups, step=step),
            "queries": float(self.queries),
            "disagreement": _mean(own_P),
            "disagreement_all": _mean(spread_P),
        }

    def _ask(self, pairs: Sequence[Pair], step: int) -> None:
        for pair in pairs:
            self._asked.add(pair, step)

    def state_dict(self) -> dict[str, Any]:
        sides = [[dump(chosen), dump(rejected)] for chosen, rejected in self._asked.sides]
        return {"members": self._every.state_dict(), "asked": sides}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._every.load_state_dict(state["members"])
        self._asked.sides = [(load(chosen), load(rejected)) for chosen, rejected in state["asked"]]


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else 0.0
