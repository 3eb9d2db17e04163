"""Comparison of surrogate users: attributes chosen by a rule or at random, and each tool alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import numpy as np

from handaxe.ops.ranking import ndcg_at, recall_at
from handaxe.ops.seeds import derive_seed
from handaxe.papers.tool_rec.film_data import FilmData
from handaxe.papers.tool_rec.film_tools import RECENT, CaseTools, FrozenRecommender, TrainedTools
from handaxe.papers.tool_rec.surrogate_user import ToolUse, play_user

__all__ = ["ARMS", "FIGURES", "compare_tools"]

Choice = Callable[[Mapping[str, float], random.Random], list[str]]
"""(history lift by attribute, random numbers) -> attributes in the order of use."""
FIGURES = ("recall", "ndcg", "rounds")
LENGTH = 10


def _preferred(lifts: Mapping[str, float], rng: random.Random) -> list[str]:
    del rng
    return sorted((name for name, lift in lifts.items() if lift > 0), key=lambda name: -lifts[name])


def _best(lifts: Mapping[str, float], rng: random.Random) -> list[str]:
    return _preferred(lifts, rng)[:1]


def _random(lifts: Mapping[str, float], rng: random.Random) -> list[str]:
    return [rng.choice(sorted(lifts))]


def _random_if_any(lifts: Mapping[str, float], rng: random.Random) -> list[str]:
    return _random(lifts, rng) if max(lifts.values()) > 0 else []


def _no_attribute(lifts: Mapping[str, float], rng: random.Random) -> list[str]:
    del lifts, rng
    return []


ARMS: dict[str, tuple[Choice, ToolUse]] = {
    "alone": (_no_attribute, "both"),
    "random": (_random, "both"),
    "matched": (_random_if_any, "both"),
    "rule": (_best, "both"),
    "all": (_preferred, "both"),
    "retrieve": (_preferred, "retrieve"),
    "rank": (_preferred, "rank"),
}
"""Arm -> choice of attributes, and tools that take an attribute.

alone: the recommender's list. random: one random attribute. rule: the attribute with the largest history lift, none if
no lift is above 0. matched: a random attribute if a lift is above 0, else none. all: every attribute with a lift above
0. retrieve, rank: as all, with one of both tools.
"""


def compare_tools(recommender: FrozenRecommender, data: FilmData, *, seed: int) -> dict[str, np.ndarray]:
    """Play a session of each arm for each user and each held-out item after the first.

    Args:
        recommender: frozen.
        data: attributes of a domain.
        seed: of random attributes.

    Returns:
        Arm -> [U, 3], FIGURES of a user, means over the held-out items: Recall@10, NDCG@10 and actions.

    Example:
        two held-out items of a user, the first at place 3 of the list and the second absent: Recall@10 0.5,
        NDCG@10 (1 / log2(4) + 0) / 2 = 0.25

    Paper: arXiv:2405.15114 (ToolRec), the comparison with the backbone.
    Differs: several held-out items of each user, one after another; the paper holds out the last one.
    """
    trained = TrainedTools(recommender, data, recommender.logits(0))
    users = len(recommender.sequences)
    found = {arm: np.zeros((users, recommender.held - 1, len(FIGURES))) for arm in ARMS}
    rngs = {arm: random.Random(derive_seed("tool_rec attributes", seed)) for arm in ARMS}
    for place in range(1, recommender.held):
        logit_UI = recommender.logits(place)
        rows: dict[str | None, np.ndarray] = {None: logit_UI}
        rows |= {name: trained.conditioned(name, place, logit_UI) for name in data.attributes}
        target_U = recommender.targets(place)
        for user in range(users):
            recent = recommender.history(user, place)[-RECENT:]
            tools = CaseTools(trained, {name: own[user] for name, own in rows.items()}, recent)
            lifts = trained.lifts(user, place)
            for arm, (choice, use) in ARMS.items():
                session = play_user(tools, choice(lifts, rngs[arm]), use=use, length=LENGTH)
                wanted = [int(target_U[user])]
                recall = recall_at(session.items, wanted, LENGTH)
                ndcg = ndcg_at(session.items, wanted, LENGTH)
                found[arm][user, place - 1] = recall, ndcg, len(session.actions)
    return {arm: own.mean(axis=1) for arm, own in found.items()}
