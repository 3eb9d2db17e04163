"""Scores a group whatever happens: who may not be scored is left out, who cannot be scored ends as verifier_error.

Example:
    siblings completed, infra_error, completed under a reward that fails on the third
    -> endings completed, infra_error, verifier_error and outcome (r, NaN, NaN)
Idea: a failure is data; nothing that infrastructure or verifier did wrong ever becomes a reward of 0.
"""

import copy
from dataclasses import replace

import numpy as np

from handaxe.core.endings import NEVER_SCORED
from handaxe.core.errors import InfrastructureError, InputError, VerifierError
from handaxe.core.protocols import Reward, Stateful
from handaxe.core.records import Ending, Group, Scores
from handaxe.rewards.parts.checks import checked

__all__ = ["score_group"]


def score_group(reward: Reward, group: Group, *, unscored: frozenset[str] = NEVER_SCORED) -> tuple[Group, Scores]:
    """Score the siblings that may be scored.

    The reward never sees the others. Where it raises VerifierError, the trajectory named ends as verifier_error and
    the rest is scored again; where none is named, the whole rest ends so. A reward that keeps state is put back to
    where it was before every attempt that failed.

    Args:
        unscored: ending kinds that are not shown to the reward.

    Returns:
        The group with endings brought up to date, and Scores over all its G siblings, NaN for those not scored and
        False in `eligible`, which is always set.

    Raises:
        Whatever else the reward raises, such as a TaskError: the data or the code is at fault and the run should stop.
    """
    while True:
        kept = [i for i, one in enumerate(group) if one.ending.kind not in unscored]
        if not kept:
            return group, _spread(Scores(np.zeros(0)), group, kept)
        shown = replace(group, trajectories=tuple(group[i] for i in kept))
        state = copy.deepcopy(reward.state_dict()) if isinstance(reward, Stateful) else None
        try:
            return group, _spread(checked(_asked(reward, shown), shown, "reward"), group, kept)
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
    """What a reward says; one that takes the group for a single attempt is told so."""
    try:
        return reward(group)
    except AttributeError as error:
        if error.obj is not group or not hasattr(group[0], error.name or ""):
            raise
        raise InputError(
            f"the reward asked the whole group for {error.name!r}, as if it were one attempt: write @outcome above a "
            "function that scores one attempt"
        ) from error


def _spread(scores: Scores, group: Group, kept: list[int]) -> Scores:
    """Scores of the siblings `kept` as those of all."""

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
