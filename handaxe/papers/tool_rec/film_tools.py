"""Tools of a user: retrieval by a frozen recommender with an attribute condition, and ranking by an attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.sparse import csr_array

from handaxe.core.errors import InputError
from handaxe.papers.tool_rec.attribute_lift import attribute_lift, history_lift, value_shares
from handaxe.papers.tool_rec.condition_head import condition_scores, fit_condition, fit_scale
from handaxe.papers.tool_rec.film_data import FilmData
from handaxe.papers.tool_rec.item_neighbours import item_similarity, neighbour_scores

__all__ = ["CaseTools", "FrozenRecommender", "TrainedTools"]

RECENT = 10
"""Items of the history that the surrogate user reads."""


class FrozenRecommender:
    """Recommender trained on all but the last items of each user.

    Args:
        sequences: items of users in order of time, each longer than `held`.
        items: number of items I.
        held: items left out at the end of each sequence, the first of them for fits and the others for tests.

    Raises:
        InputError: held below 2, no user, or a sequence of `held` items or fewer.
    """

    def __init__(self, sequences: Sequence[np.ndarray], items: int, *, held: int):
        if held < 2 or not sequences or min(len(one) for one in sequences) <= held:
            raise InputError(
                f"a recommender needs users with more than `held` items each, and held >= 2 (is {held}): leave out "
                "users with fewer items"
            )
        self.sequences = sequences
        self.held = held
        train = [one[:-held] for one in sequences]
        self.count_I = np.bincount(np.concatenate(train), minlength=items)
        self._similar_II = csr_array(item_similarity(train, items))
        self.scale = 1.0
        self.scale = fit_scale(self.logits(0), self.targets(0))

    def history(self, user: int, place: int) -> np.ndarray:
        """Items of a user before a held-out item: place 0 is the first held-out item."""
        return self.sequences[user][: len(self.sequences[user]) - self.held + place]

    def targets(self, place: int) -> np.ndarray:
        """Held-out item of each user at a place, [U]."""
        return np.array([one[len(one) - self.held + place] for one in self.sequences])

    def logits(self, place: int) -> np.ndarray:
        """Logits of all items at a place, -inf for used items, [U, I]."""
        histories = [self.history(user, place) for user in range(len(self.sequences))]
        logit_UI = self.scale * neighbour_scores(self._similar_II, histories)
        for row_I, history in zip(logit_UI, histories):
            row_I[history] = -np.inf
        return logit_UI


class TrainedTools:
    """Condition of every attribute, fitted on the first held-out item of each user.

    Args:
        recommender: frozen.
        data: with attributes; its interactions are those of the recommender.
        logit_UI: `recommender.logits(0)`.
    """

    def __init__(self, recommender: FrozenRecommender, data: FilmData, logit_UI: np.ndarray):
        self.recommender = recommender
        self.attributes: Mapping[str, np.ndarray] = data.attributes
        self.base = {name: value_shares(own, recommender.count_I) for name, own in data.attributes.items()}
        target_U = recommender.targets(0)
        self._weights = {
            name: fit_condition(logit_UI, self._profiles(name, 0), own, target_U)
            for name, own in data.attributes.items()
        }

    def conditioned(self, name: str, place: int, logit_UI: np.ndarray) -> np.ndarray:
        """Logits with the condition of an attribute, [U, I]."""
        return condition_scores(logit_UI, self._profiles(name, place), self.attributes[name], self._weights[name])

    def lifts(self, user: int, place: int) -> dict[str, float]:
        """History lift of each attribute for a user."""
        recent = self.recommender.history(user, place)[-RECENT:]
        return {name: history_lift(own[recent], self.base[name]) for name, own in self.attributes.items()}

    def _profiles(self, name: str, place: int) -> np.ndarray:
        users = range(len(self.recommender.sequences))
        return np.stack(
            [self.attributes[name][self.recommender.history(user, place)[-RECENT:]].mean(axis=0) for user in users]
        )


class CaseTools:
    """Tools for one user at one place.

    Args:
        trained: of all users.
        rows: logits [I] by attribute, None for the recommender alone; -inf for used items.
        recent: the last items of the history.
    """

    def __init__(self, trained: TrainedTools, rows: Mapping[str | None, np.ndarray], recent: np.ndarray):
        self._trained = trained
        self._rows = rows
        self._recent = recent
        self._retrieved: dict[tuple[str | None, int], list[int]] = {}

    def retrieve(self, attribute: str | None, count: int) -> list[int]:
        """The unused items with the highest logits, fewer than `count` if there are fewer; see `FilmTools`."""
        key = (attribute, count)
        if key not in self._retrieved:
            row_I = self._rows[attribute]
            found = min(count, int(np.isfinite(row_I).sum()))
            best_N = np.argpartition(-row_I, found - 1)[:found]
            self._retrieved[key] = best_N[np.argsort(-row_I[best_N], kind="stable")].tolist()
        return self._retrieved[key]

    def rank(self, attribute: str, candidates: Sequence[int], count: int) -> list[int]:
        """Sort candidates by the user's lift of their values; equal ones keep their order.

        Paper: arXiv:2405.15114 (ToolRec), rank tools.
        Differs: a rule over known attributes; the paper asks a language model.
        """
        own_IF = self._trained.attributes[attribute]
        lift_N = attribute_lift(own_IF[self._recent], own_IF[list(candidates)], self._trained.base[attribute])
        return [candidates[place] for place in np.argsort(-lift_N, kind="stable")[:count]]
