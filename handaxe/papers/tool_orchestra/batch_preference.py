"""Preference reward with minimum and maximum over the rollout batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Credit, Reward, Selector
from handaxe.core.records import Group, RatedGroup, Scores, Task
from handaxe.ops.ragged import group_rewards
from handaxe.papers.tool_orchestra.preference_weighted import (
    OUTCOME,
    coordinate_values,
    read_preference,
    rescaled,
    task_weights,
)

__all__ = ["batch_preference", "preference_coordinates"]


def preference_coordinates(*, preference: Callable[[Task], Mapping[str, float]] = read_preference) -> Reward:
    """Measure the coordinates of a preference as channels.

    Args:
        preference: task -> P, name -> weight in [0, 1].

    Returns:
        A reward with outcome 0 [G], and a channel NAME for each name of P but "outcome": M_i of `preference_weighted`.

    Raises:
        TaskError: a task without a preference, or with a weight outside [0, 1].

    Example:
        P = {t: 0, outcome: 1, cost: 0.5}, 2 calls of tool t for 0.10: channels t 2 and cost -0.10

    Idea: the permuted-reward control permutes channels with outcomes, and cannot permute what a selector reads in a
    rollout.
    """

    def reward(group: Group) -> Scores:
        nothing = np.zeros(len(group))
        names = [name for name in task_weights(group.task, preference) if name != OUTCOME]
        return Scores(nothing, channels={name: coordinate_values(name, group, nothing) for name in names})

    return reward


def batch_preference(
    *,
    credit: Credit,
    correct: str = "base",
    coordinates: str | None = None,
    preference: Callable[[Task], Mapping[str, float]] = read_preference,
) -> Selector:
    """Score and credit the groups of a step again, with coordinates scaled over the batch.

        R_gi  = base_gi * sum_k P_gk * m_gik
        m_gik = (M_gik - min M_k) / (max M_k - min M_k)      min and max over all scored rollouts of the step; 0 for all
                                                            if the two are equal
        A     = credit(group, scores with outcome R)

    M is as in `preference_weighted`. Two siblings with equal coordinates keep equal rewards; a group of cheap rollouts
    scores higher than a group of expensive ones, and a small difference within a group stays small beside a large one
    of the batch. Trained rollouts stay as they are.

    Args:
        credit: of the new scores.
        correct: channel of the scores with the outcome (base_gi), as `preference_weighted` and `weighted` name it.
        coordinates: name of the part with `preference_coordinates` in a `weighted` reward; None measures the rollouts,
            also those of the permuted-reward control.
        preference: task -> P, name -> weight in [0, 1].

    Returns:
        A selector: [RatedGroup] -> [RatedGroup], the same groups in the same order with new outcomes and advantages,
        and channels "preferred/NAME" (m_gik).

    Raises:
        InputError: scores with per-turn rewards, or without a channel.
        TaskError: a task without a preference, or with a weight outside [0, 1].

    Example:
        P = {cost: 1}; group a has costs 0 and 1, group b 10 and 2, all correct: m = 1, 0.9 and 0, 0.8; per group it
        would be 1, 0 and 0, 1

    Paper: arXiv:2511.21689 (ToolOrchestra), the reward of a trajectory; minimum and maximum over the rollout batch.
    Unconfirmed: that the batch has all tasks of a step; a batch per task is `preference_weighted`.
    Differs: as `preference_weighted`.
    """

    def select(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        weights = [task_weights(one.group.task, preference) for one in rated]
        outcomes = [group_rewards(one.group, one.scores, channel=correct) for one in rated]
        scaled = _scaled(rated, weights, outcomes, coordinates)
        return [_rescored(*parts) for parts in zip(rated, weights, outcomes, scaled, strict=True)]

    def _rescored(
        one: RatedGroup, weights: Mapping[str, float], outcome_G: np.ndarray, own: Mapping[str, np.ndarray]
    ) -> RatedGroup:
        if one.scores.turns is not None:
            raise InputError("batch_preference rescores outcomes, and these scores have per-turn rewards")
        value_G = sum((weight * own[name] for name, weight in weights.items()), np.zeros(len(one.group)))
        channels = {**one.scores.channels, **{f"preferred/{name}": own[name] for name in weights}}
        scores = replace(one.scores, outcome=outcome_G * value_G, channels=channels)
        return replace(one.with_group(one.group, scores), advantages=credit(one.group, scores))

    return select


def _scaled(
    rated: Sequence[RatedGroup],
    weights: Sequence[Mapping[str, float]],
    outcomes: Sequence[np.ndarray],
    coordinates: str | None,
) -> list[dict[str, np.ndarray]]:
    """By group, name -> coordinates in 0..1 [G]."""
    found: list[dict[str, np.ndarray]] = [{} for _ in rated]
    scored_N = ~np.isnan(np.concatenate(outcomes)) if outcomes else np.zeros(0, bool)
    ends = np.cumsum([len(one) for one in outcomes])[:-1]
    for name in dict.fromkeys(name for own in weights for name in own):
        if coordinates is None or name == OUTCOME:
            values = [coordinate_values(name, one.group, own) for one, own in zip(rated, outcomes, strict=True)]
        else:
            values = [group_rewards(one.group, one.scores, channel=f"{coordinates}/{name}") for one in rated]
        for own, scaled_G in zip(found, np.split(rescaled(np.concatenate(values), scored_N), ends), strict=True):
            own[name] = scaled_G
    return found
