"""Let the tokens of attempts that were hinted move further."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops.composite import Composite

__all__ = ["hint_clip_bonus"]


def hint_clip_bonus(*, credit: Credit, note: str = "hint") -> Credit:
    """Give what a credit says, and room 1 to the policy's tokens of those attempts that read a hint.

        room_t = 1 where notes[note] of the attempt names something, else 0

    The room is a channel of the advantages, of which `losses.adjustments.clip_with_room` makes the upper bound of the
    ratio, which only matters where A_t > 0: what a hint led to and went well may become likely faster.

    Args:
        credit: gives the advantages, which stay as they are.
        note: where the rollout says which hints it gave; as `rollouts.hinted` does.

    Returns:
        A credit with the channel "room". Its state is the credit's. Siblings that were not scored have no room.

    Example:
        notes {"hint": ["tip 0"]}, {"hint": []} and none  ->  room 1, 0, 0;  bounds 1.6, 1.2, 1.2 with wider=0.4

    Paper: arXiv:2511.10395 (AgentEvolver), the selective boosting of its self-navigating.
    Unconfirmed: how much further, and that it is the upper bound alone.
    Differs: nothing known.
    """
    return _Roomy(credit, note)


class _Roomy(Composite):
    def __init__(self, credit: Credit, note: str):
        self._credit = credit
        self._note = note

    def __call__(self, group: Group, scores: Scores) -> Advantages:
        said = self._credit(group, scores)
        scored_G = ~np.isnan(np.asarray(scores.outcome, np.float64))
        room = tuple(
            tuple(float(scored and bool(one.notes.get(self._note))) * sequence.mask for sequence in one.sequences)
            for scored, one in zip(scored_G, group, strict=True)
        )
        return replace(said, channels={**said.channels, "room": room})

    def parts(self) -> Mapping[str, object]:
        return {"credit": self._credit}
