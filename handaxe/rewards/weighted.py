"""Adds rewards with weights.

Idea: each reward stays a channel, so that a credit may also normalize it separately.
"""

from collections.abc import Callable, Mapping

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.rewards.parts.combined import Combined

__all__ = ["weighted"]


Weight = float | Callable[[int], float]


def weighted(components: Mapping[str, tuple[Weight, Reward]]) -> Reward:
    """Add rewards with weights, outcome to outcome and turn to turn.

        outcome_i  = sum_k w_k(step) * outcome_k,i
        turns_i[n] = sum_k w_k(step) * turns_k,i[n]        over the components with turns

    Channels hold the components unweighted.

    Args:
        components: name -> (weight, reward). A weight may be a function of the training step, `group.step`.

    Returns:
        A reward; `turns` is None if no component has turns.

    Raises:
        InputError: no component, or a weight that is not finite.
        VerifierError: a value of a component is not finite; it names component and trajectory.

    Example:
        answer (1, 0) with weight 1 and format (1, 1) with weight 0.2  ->  outcome (1.2, 0.2)
    """
    for name, (weight, _) in components.items():
        if not callable(weight) and not np.isfinite(weight):
            raise InputError(f"the weight of reward {name!r} is {weight}; give a finite number")

    def merge(group: Group, parts: dict[str, Scores]) -> Scores:
        weights = {name: w(group.step) if callable(w) else w for name, (w, _) in components.items()}
        value = sum((weights[name] * part.outcome for name, part in parts.items()), np.zeros(len(group)))
        turned = [(weights[name], part.turns) for name, part in parts.items() if part.turns is not None]
        turns = None
        if turned:
            zeros = [np.zeros(len(one.turns)) for one in group]
            turns = tuple(sum((w * t[i] for w, t in turned), zero) for i, zero in enumerate(zeros))
        return Scores(value, turns=turns)

    return Combined({name: reward for name, (_, reward) in components.items()}, merge)
