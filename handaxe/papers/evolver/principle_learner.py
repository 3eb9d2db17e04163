"""Principles that change between steps: distilled from rollouts, scored by use, pruned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import RatedGroup, Trajectory
from handaxe.ops.ragged import channel_values
from handaxe.papers.evolver.life_cycle import distil
from handaxe.papers.evolver.principle_store import PrincipleStore
from handaxe.papers.evolver.principle_tool import PrincipleSearch
from handaxe.papers.evolver.principled_hops import LESSON
from handaxe.worlds.hops.coded_hops import searched_path

__all__ = ["PrincipleLearner", "principle_learner"]


def principle_learner(
    *, store: PrincipleStore, every: int = 10, channel: str | None = None, distils: bool = True
) -> PrincipleLearner:
    """Make a learner that keeps a store of principles beside the policy.

        in every step, for each rollout:   each principle that it searched counts a use, and a success if it is correct
                                           the rollout's own principle is offered to the store
        every `every` steps:               principles with low scores are deleted

    Rollouts of lessons, of unscored rollouts and without a search of documents give no principle.

    Args:
        store: also of the tool that the policy searches.
        every: steps between two deletions, >= 1; 10 in the paper.
        channel: of the scores, with the correctness; None: their outcome.
        distils: False offers nothing to the store.

    Returns:
        A Learner with metrics stored, score (mean of the stored ones; 0.5 without one), used (share of the rollouts
        with a shown principle), used_score (mean score of the shown ones before the step; 0.5 without one) and pruned.
        The store is its state.

    Raises:
        InputError: `every` below 1.

    Example:
        a correct rollout with searches by boss and ally at code K, without principles  ->  stored 1, "+ K: boss ally"

    Paper: arXiv:2510.16079 (EvolveR), its life-cycle beside reinforcement learning.
    Differs: a rule distils, see `distil`.
    """
    if every < 1:
        raise InputError(f"every is {every}; give 1 step or more")
    return PrincipleLearner(store, every, channel, distils)


class PrincipleLearner:
    """See `principle_learner`."""

    def __init__(self, store: PrincipleStore, every: int, channel: str | None, distils: bool):
        self.store = store
        self._distils = distils
        self._every = every
        self._channel = channel

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Count uses, distil and prune; returns metrics."""
        rollouts = list[tuple[Trajectory, bool]]()
        for rated in groups:
            value_G = channel_values(rated.scores, self._channel)
            rollouts += [
                (one, value > 0.5) for one, value in zip(rated.group, value_G, strict=True) if not np.isnan(value)
            ]
        known = {one.text: one for one in self.store.principles}
        shown = [[known[text] for text in _used(one) if text in known] for one, _ in rollouts]
        scores = [principle.score for own in shown for principle in own]
        for (_, right), own in zip(rollouts, shown, strict=True):
            for principle in own:
                principle.use(right)
        for one, right in rollouts:
            if self._distils and LESSON not in one.task.metadata and searched_path(one):
                self.store.offer(distil(one, success=right), success=right, trajectory=one.id)
        pruned = self.store.prune() if (step + 1) % self._every == 0 else []
        return {
            "stored": float(len(self.store)),
            "score": float(np.mean(self.store.scores)) if len(self.store) else 0.5,
            "used": float(np.mean([bool(own) for own in shown])) if shown else 0.0,
            "used_score": float(np.mean(scores)) if scores else 0.5,
            "pruned": float(len(pruned)),
        }

    def state_dict(self) -> dict[str, Any]:
        """Texts, uses, successes and trajectories of all principles."""
        kept = [(one.text, one.usage, one.success, list(one.trajectories)) for one in self.store.principles]
        return {"principles": kept}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the store."""
        self.store.replace(state["principles"])


def _used(one: Trajectory) -> list[str]:
    state = one.env.get("state", {}).get(PrincipleSearch.__name__, {})
    return list(state.get("used", ()))
