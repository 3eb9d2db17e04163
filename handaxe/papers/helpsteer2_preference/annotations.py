"""Ratings of rollouts and preferences of pairs by annotators with errors, on the same rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Pairs, Source, StageContext
from handaxe.core.records import Group, Pair, RatedGroup, Scores
from handaxe.ops.seeds import generator
from handaxe.selection.pairs.ordered import siblings_with_values

__all__ = ["QUALITY", "annotated", "preferences", "quality", "ratings", "strength"]

QUALITY = "quality"
"""Channel with the qualities that the annotators judge."""
HIGHEST = 4
"""Ratings are 0 to 4."""
MUCH = 3
"""Strengths are 1, slightly better, to 3, much better."""


def quality(group: Group, outcome_G: np.ndarray) -> np.ndarray:
    """Compute the quality of each rollout from its answer and its calls.

        q = 3 [the answer is correct] + [no call is malformed, and no call fails]

    Args:
        group: rollouts.
        outcome_G: [G] 1 for a correct answer, 0 for another.

    Returns:
        [G]: 0, 1, 3 or 4.

    Example:
        a correct answer after a failed call  ->  3
    """
    clean = [
        all(not turn.parsed.errors and all(reply.status == "ok" for reply in turn.replies) for turn in one.turns)
        for one in group
    ]
    return 3.0 * (np.asarray(outcome_G) > 0.5) + np.array(clean, np.float64)


def ratings(group: Group, quality_G: np.ndarray, *, noise: float, seed: int = 0) -> np.ndarray:
    """Rate each rollout alone.

        rating_i = round(q_i + noise * e_i), clipped to [0, 4]        e_i standard normal, drawn by rollout

    Args:
        group: rollouts.
        quality_G: [G] qualities.
        noise: standard deviation of an annotator's error, >= 0.
        seed: of the annotator.

    Returns:
        [G] whole numbers from 0 to 4.

    Example:
        q = 3 and an error of 0.7  ->  4

    Paper: arXiv:2410.01257 (HelpSteer2-Preference), Likert ratings of helpfulness from 0 to 4.
    Differs: errors are drawn; the paper's annotators are people.
    """
    error_G = np.array([generator("rating", seed, one.id, one.seed).standard_normal() for one in group])
    return np.clip(np.round(quality_G + noise * error_G), 0, HIGHEST)


def strength(difference: float) -> float:
    """Put a difference of qualities into words: 1 slightly better, 2 better, 3 much better, and 0 for a tie.

        m = min(round(|d|), 3)

    Example:
        0.4 -> 0;  -1.2 -> 1;  2.4 -> 2;  5 -> 3
    """
    return float(min(round(abs(difference)), MUCH))


def preferences(*, noise: float, seed: int = 0, most: int | None = None) -> Pairs:
    """Make a maker of pairs: an annotator compares two siblings, and states how much better one is.

        d = q_i - q_j + noise / 2 * sqrt(2) * e_ij        the sign chooses, `strength` is m; ties have no pair

    Args:
        noise: standard deviation of the error of a rating, >= 0. The error of a comparison at each rollout is half as
            large, as of preferences on which annotators agree, and independent of it.
        seed: of the annotator, and of the order of the pairs.
        most: pairs of a group at most, in random order; None for all.

    Returns:
        Pairs of strength 1, 2 or 3. Groups need the channel "quality".

    Raises:
        InputError: a negative noise, or `most` below 1.

    Example:
        q = 4 and 0 without noise  ->  the first chosen, with strength 3

    Paper: arXiv:2410.01257 (HelpSteer2-Preference), preferences with three strengths, annotated apart from ratings.
    Differs: errors are drawn, and there are ties; the paper's scale has a least preference in each direction.
    """
    if not noise >= 0 or (most is not None and most < 1):
        raise InputError(f"give a noise from 0 and 1 pair or more, not {noise} and {most}")

    def pairs(rated: Sequence[RatedGroup]) -> list[Pair]:
        return [pair for one in rated for pair in _compared(one)]

    def _compared(one: RatedGroup) -> list[Pair]:
        value_G, scored = siblings_with_values(one, QUALITY)
        both = [(i, j) for place, i in enumerate(scored) for j in scored[place + 1 :]]
        rng = generator("preference", seed, one.group.task.id, *(one.group[i].id for i in scored))
        found = list[Pair]()
        for k in rng.permutation(len(both)):
            i, j = both[k]
            difference = float(value_G[i] - value_G[j] + noise / 2 * np.sqrt(2) * rng.standard_normal())
            if m := strength(difference):
                better, worse = (i, j) if difference > 0 else (j, i)
                found.append(Pair(one.group[better], one.group[worse], m))
        return found[:most]

    return pairs


def annotated(source: Source, *, noise: float, seed: int = 0) -> Source:
    """Replace the outcome of a source's groups by ratings; the channel "quality" is for `preferences`.

    Args:
        source: of groups whose outcome is the correctness of answers.
        noise, seed: see `ratings`.

    Example:
        outcomes 1 and 0 without failed calls and noise  ->  ratings 4 and 1
    """

    def labelled(site: StageContext) -> list[RatedGroup]:
        found = list[RatedGroup]()
        for one in source(site):
            quality_G = quality(one.group, one.scores.outcome)
            scores = Scores(
                ratings(one.group, quality_G, noise=noise, seed=seed),
                channels={QUALITY: np.where(np.isnan(one.scores.outcome), np.nan, quality_G)},
            )
            found.append(replace(one, scored=replace(one.scored, scores=scores)))
        return found

    return labelled
