"""Lets one reward through only where another is earned.

Idea: what is worth having only once something else is right does not compete with it.
"""

import numpy as np

from handaxe.records import Group, Scores
from handaxe.rewards.parts.checks import outcome_only
from handaxe.rewards.parts.combined import Combined
from handaxe.slots import Reward

__all__ = ["gate"]


def gate(
    *, on: Reward, then: Reward, otherwise: Reward | None = None, above: float = 0.0, mark_eligible: bool = False
) -> Reward:
    """Let one reward through only where another is earned.

        open_i    = outcome_on,i > above
        outcome_i = outcome_then,i  where open_i,  else outcome_otherwise,i (0 without it);   turns alike

    Args:
        on: what decides; its own value is not part of the result.
        then: the reward of trajectories that pass.
        otherwise: the reward of those that do not.
        above: the gate opens strictly above this.
        mark_eligible: also set Scores.eligible to open_i, for credits that count only those in their statistics.

    Returns:
        A reward with the channels "on", "then" and "otherwise", each over all siblings.

    Example:
        on (1, 0, 1), then (0.3, 0.9, 0.5), otherwise (-1, -2, -3)  ->  outcome (0.3, -2, 0.5)
    """
    components = {"on": on, "then": then} | ({} if otherwise is None else {"otherwise": otherwise})

    def merge(group: Group, parts: dict[str, Scores]) -> Scores:
        passed = outcome_only(parts["on"], "on").outcome > above
        yes, no = parts["then"], parts.get("otherwise", Scores(np.zeros(len(group))))
        turns = None
        if yes.turns is not None or no.turns is not None:
            chosen = [(yes if passed[i] else no).turns for i in range(len(group))]
            turns = tuple(
                np.zeros(len(one.turns)) if t is None else t[i] for i, (one, t) in enumerate(zip(group, chosen))
            )
        return Scores(
            np.where(passed, yes.outcome, no.outcome), turns=turns, eligible=passed if mark_eligible else None
        )

    return Combined(components, merge)
