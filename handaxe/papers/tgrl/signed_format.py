"""Reward of 1, 0 or -1 for readable turns and an answer handed in by a tool."""

from __future__ import annotations

from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory, Turn
from handaxe.rewards.outcome import outcome

__all__ = ["signed_format"]


def signed_format(*, tool: str = "answer") -> Reward:
    """Score 1 if every turn is readable and a tool received the answer, 0 if only the tool is missing, else -1.

        readable_i = every turn has finish "stop", no malformed call, and no reply with the status "invalid"
        R_i        =  1    readable_i, and a call of `tool` was executed (its reply is ok)
                   =  0    readable_i, without such a call
                   = -1    not readable_i, or no turn

    Args:
        tool: name of the tool that receives the answer.

    Returns:
        A reward with outcome [G] of -1, 0 and 1.

    Example:
        calculator, then answer("7") -> 1;  calculator, then "7" as text -> 0;  a malformed call, then answer("7") -> -1

    Paper: arXiv:2510.11184 (TGRL), R_format.
    Differs: turns are read by the chat format instead of XML tags in the text.
    Unconfirmed: all three values; only the range of the sum with R_outcome is known.
    """

    def score(trajectory: Trajectory) -> float:
        if not trajectory.turns or not all(_readable(turn) for turn in trajectory.turns):
            return -1.0
        return float(any(reply.name == tool and reply.status == "ok" for reply in trajectory.replies))

    return outcome(score)


def _readable(turn: Turn) -> bool:
    refused = any(reply.status == "invalid" for reply in turn.replies)
    return turn.finish == "stop" and not turn.parsed.errors and not refused
