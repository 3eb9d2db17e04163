"""Rewards calls without an error."""

from collections.abc import Iterable
from typing import Literal

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import ToolReply, Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.per_turn import per_turn

__all__ = ["tool_success"]


def tool_success(
    *, without_calls: float = 0.0, per: Literal["rollout", "turn"] = "rollout", count: bool = False
) -> Reward:
    """Give the share of successful tool executions.

        R_i        = #{replies with status ok} / #{replies}        with count=True, without the denominator
        turns_i[n] = the same for the replies to turn n, with per="turn"; the outcome is then 0

    A reply with status infra_error is left out of both counts: the policy is not at fault.

    Args:
        without_calls: reward of a trajectory, or of a turn, without an execution. The paper gives no value; 0 pays
            nothing.
        per: "rollout", or "turn" for a reward of each turn.
        count: give the number of successes instead of their share.

    Returns:
        A reward with outcome [G] in [0, 1] (a count is not bounded), or with turns, per trajectory [N].

    Raises:
        InputError: another word for per.

    Example:
        replies ok, failed, ok  ->  2 / 3 = 0.6667, with count=True 2;  no reply  ->  0
        per="turn", replies ok; failed and ok; none  ->  turns 1, 0.5, 0

    Paper: arXiv:2505.01441 (ARTIST), R_exec; by turn arXiv:2505.20732 (SPA-RL), whether an action could be executed;
    share and count arXiv:2509.01055 (VerlTool), the turn reward of its repository's MT-GRPO.
    Differs: a call refused before it ran (status "invalid") counts as a failed execution.
    """

    if per not in ("rollout", "turn"):
        raise InputError(f"tool_success pays per rollout or per turn, not per {per!r}")

    def share(replies: Iterable[ToolReply]) -> float:
        statuses = [reply.status for reply in replies if reply.status != "infra_error"]
        return statuses.count("ok") / (1 if count else len(statuses)) if statuses else without_calls

    def of_rollout(trajectory: Trajectory) -> float:
        return share(trajectory.replies)

    def of_turns(trajectory: Trajectory) -> list[float]:
        return [share(turn.replies) for turn in trajectory.turns]

    return per_turn(of_turns) if per == "turn" else outcome(of_rollout)
