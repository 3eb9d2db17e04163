"""Excludes rollouts of tasks beyond the policy's context from the score.

Example:
    context 512, room 64: openings of 100, 448 and 449 tokens -> scored, scored, not scored
"""

from __future__ import annotations

from handaxe.core.errors import VerifierError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Trajectory

__all__ = ["FittingReward", "fits"]


def fits(trajectory: Trajectory, context: int, room: int, *, served: bool = False) -> bool:
    """Return True if the opening of the task leaves the policy at least `room` tokens.

    The rule reads the opening alone and nothing that the policy wrote: no failed rollout is left out for its length. A
    chat server counts tokens itself, and a conversation does not fit if the server refuses the first request as too
    long. The engine reports this as an empty turn, cut by length, of cost 0; with prices for tokens every other turn
    of a server with usage counts has a cost.

    Args:
        trajectory: a finished rollout.
        context: longest sequence of the policy, in tokens; of no use for a chat server.
        room: tokens.
        served: the policy is a chat server.

    Example:
        context 512 and room 64: True for an opening of 448 tokens, False for 449
    """
    if not trajectory.turns:
        return trajectory.ending.kind != "truncated"
    first = trajectory.turns[0]
    if served:
        written = first.parsed.text or first.parsed.calls or first.parsed.errors
        return bool(written) or first.finish != "length" or first.cost > 0
    return context - first.start >= room


class FittingReward:
    """Reward with a VerifierError for rollouts without `fits`; `left_out` has the ids."""

    def __init__(self, reward: Reward, context: int, room: int, *, served: bool = False):
        self.reward = reward
        self.context = context
        self.room = room
        self.served = served
        self.left_out: set[str] = set()

    def __call__(self, group: Group) -> Scores:
        """Score a group; see `Reward`."""
        for one in group:
            if not fits(one, self.context, self.room, served=self.served):
                self.left_out.add(one.id)
                raise VerifierError("the task does not fit the context of the policy", trajectory=one.id)
        return self.reward(group)
