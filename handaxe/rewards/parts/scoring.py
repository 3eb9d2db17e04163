"""Scores a group in spite of failures: unscorable siblings are left out, and failed ones end as verifier_error.

Example:
    siblings completed, infra_error, completed under a reward that fails on the third
    -> endings completed, infra_error, verifier_error and outcome (r, NaN, NaN)
Idea: a failure is data; no fault of infrastructure or verifier becomes a reward of 0.
"""

import copy
from dataclasses import replace

import numpy as np

from handaxe.core.endings import NEVER_SCORED
from handaxe.core.errors import InfrastructureError, InputError, VerifierError
from handaxe.core.protocols import Reward, Stateful
from handaxe.core.records import Ending, Group, Scores
from handaxe.core.user_code import user_function
from handaxe.rewards.parts.checks import validate_scores

__all__ = ["score_group"]


def score_group(reward: Reward, group: Group, *, unscored: frozenset[str] = NEVER_SCORED) -> tuple[Group, Scores]:
    """Score the scorable siblings of a group.

    The reward never sees the others. If it raises VerifierError, the named trajectory ends as verifier_error and the
    rest is scored again; without a name, the whole rest ends so. A stateful reward is restored after every failed call.

    Args:
        unscored: ending kinds that the reward does not see.

    Returns:
        The group with updated endings, and Scores over all its G siblings, NaN for unscored ones and False in
        `eligible`, which is always set.

    Raises:
        Other errors of the reward, such as a TaskError: data or code is at fault, and the run should stop.
    """
    while True:
        kept = [i for i, one in enumerate(group) if one.ending.kind not in unscored]
        if not kept:
            return group, _spread(Scores(np.zeros(0)), group, kept)
        shown = replace(group, trajectories=tuple(group[i] for i in kept))
        state = copy.deepcopy(reward.state_dict()) if isinstance(reward, Stateful) else None
        try:
            return group, _spread(_asked(reward, shown), group, kept)
        except (VerifierError, InfrastructureError) as error:
            if isinstance(reward, Stateful) and state is not None:
                reward.load_state_dict(state)
            named = error.trajectory if isinstance(error, VerifierError) else ""
            blamed = {named} if named in {one.id for one in shown} else {one.id for one in shown}
            ending = Ending("verifier_error", f"{type(error).__name__}: {error}")
            trajectories = tuple(replace(one, ending=ending) if one.id in blamed else one for one in group)
            group = replace(group, trajectories=trajectories)
            unscored = unscored | {"verifier_error"}


def _asked(reward: Reward, group: Group) -> Scores:
    """Scores of a reward, with an error message for a function of a single trajectory."""
    try:
        scores = reward(group)
        name = "reward" if isinstance(scores, Scores) else user_function(reward) or "reward"
        return validate_scores(scores, group, name)
    except AttributeError as error:
        if error.obj is not group or not hasattr(group[0], error.name or ""):
            raise
        raise InputError(
            f"the reward reads {error.name!r} of the whole group, as of a single rollout: write @outcome above a "
            "function that scores one rollout"
        ) from error


def _spread(scores: Scores, group: Group, kept: list[int]) -> Scores:
    """Scores of the siblings `kept` as scores of all."""

    def wide(values: np.ndarray) -> np.ndarray:
        out = np.full(len(group), np.nan)
        out[kept] = values
        return out

    def ragged(values: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        by_index = dict(zip(kept, values))
        return tuple(by_index.get(i, np.full(len(one.turns), np.nan)) for i, one in enumerate(group))

    eligible = np.zeros(len(group), dtype=bool)
    eligible[kept] = True if scores.eligible is None else scores.eligible
    return Scores(
        wide(scores.outcome),
        turns=None if scores.turns is None else ragged(scores.turns),
        channels={name: wide(values) for name, values in scores.channels.items()},
        turn_channels={name: ragged(values) for name, values in scores.turn_channels.items()},
        eligible=eligible,
    )
