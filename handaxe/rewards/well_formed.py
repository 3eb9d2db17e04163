"""Rewards rollouts without a malformed call."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Trajectory, Turn
from handaxe.rewards.outcome import outcome
from handaxe.tools.decorator import Tool

__all__ = ["well_formed"]


def well_formed(*, arguments: bool = False, tools: Sequence[Tool] | None = None) -> Reward:
    """Give 1 to a completed trajectory without a malformed call, else 0.

        ok_i[n] = 1 if turn n has no malformed call and its finish is "stop", else 0
        R_i     = 1 if the ending is completed and all ok_i[n] are 1, else 0

    Args:
        arguments: also count a call as malformed if its reply has the status "invalid" (an unknown tool, or arguments
            that violate the tool's schema).
        tools: for calls that are not executed and have no reply: a call of another tool, or with arguments that its
            tool does not accept, counts as malformed. None: replies alone decide.

    Returns:
        A reward with outcome [G] of 0 and 1, and turn_channels["well_formed"], per trajectory ok_i [N]. The per-turn
        values are a channel, not part of the reward. No turn: 0.

    Example:
        turns (good call, answer) completed -> 1;  (malformed call, answer) completed -> 0, ok (0, 1);
        (good call) truncated(turns) -> 0, ok (1,)

    Idea: the format reward of arXiv:2501.12948 (DeepSeek-R1), on parsed calls instead of tags.
    """
    known = None if tools is None else {tool.schema.name: tool for tool in tools}

    def turn_ok(turn: Turn) -> bool:
        invalid = arguments and any(reply.status == "invalid" for reply in turn.replies)
        fits = known is None or all(call.name in known and known[call.name].takes(call) for call in turn.parsed.calls)
        return turn.finish == "stop" and not turn.parsed.errors and not invalid and fits

    @outcome
    def whole(trajectory: Trajectory) -> float:
        completed = trajectory.ending.kind == "completed" and bool(trajectory.turns)
        return float(completed and all(turn_ok(turn) for turn in trajectory.turns))

    def reward(group: Group) -> Scores:
        turns = tuple(np.array([turn_ok(turn) for turn in one.turns], dtype=np.float64) for one in group)
        return replace(whole(group), turn_channels={"well_formed": turns})

    return reward
