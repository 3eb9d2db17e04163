"""Credit with a larger clip for the tokens of hinted rollouts."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops.stateful_composite import StatefulComposite

__all__ = ["hint_clip_bonus"]


def hint_clip_bonus(*, credit: Credit, note: str = "hint") -> Credit:
    """Add the channel "room": 1 on the policy's tokens of hinted rollouts.

        room_t = 1 if notes[note] of the rollout is not empty, else 0

    `losses.adjustments.widened_clip` computes the upper bound of the ratio from it, which acts only if A_t > 0:
    successful tokens sampled with a hint may rise faster.

    Args:
        credit: computes the advantages, which stay as they are.
        note: trajectory note with the names of the hints, as written by `rollouts.hinted`.

    Returns:
        A credit with the channel "room". Its state is that of `credit`. Unscored siblings have room 0.

    Example:
        notes {"hint": ["tip 0"]}, {"hint": []} and none  ->  room 1, 0, 0;  bounds 1.6, 1.2, 1.2 with wider=0.4

    Paper: arXiv:2511.10395 (AgentEvolver), the selective boosting of its self-navigating.
    Unconfirmed: the size of the bonus, and that it raises the upper bound alone.
    Differs: nothing known.
    """
    return _Roomy(credit, note)


class _Roomy(StatefulComposite):
    def __init__(self, credit: Credit, note: str):
        self._credit = credit
        self._note = note

    def __call__(self, group: Group, scores: Scores) -> Advantages:
        advantages = self._credit(group, scores)
        scored_G = ~np.isnan(np.asarray(scores.outcome, np.float64))
        room = tuple(
            tuple(float(scored and bool(one.notes.get(self._note))) * sequence.mask for sequence in one.sequences)
            for scored, one in zip(scored_G, group, strict=True)
        )
        return replace(advantages, channels={**advantages.channels, "room": room})

    def parts(self) -> Mapping[str, object]:
        return {"credit": self._credit}
