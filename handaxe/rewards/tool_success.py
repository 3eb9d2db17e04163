"""Rewards calls that ran without error."""

from handaxe.records import Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.slots import Reward

__all__ = ["tool_success"]


def tool_success(*, without_calls: float = 0.0) -> Reward:
    """Give the share of tool executions that succeeded.

        R_i = #{replies with status ok} / #{replies}

    A reply whose status is infra_error is left out of both counts: it is not the policy's fault.

    Args:
        without_calls: reward of a trajectory in which nothing was executed. The paper does not say; 0 pays nothing.

    Returns:
        A reward with outcome [G] in [0, 1].

    Example:
        replies ok, failed, ok  ->  2 / 3 = 0.6667;  no reply  ->  0

    Paper: arXiv:2505.01441 (ARTIST), R_exec.
    Differs: a call refused before it ran (status "invalid") counts as an execution that failed.
    """

    def score(trajectory: Trajectory) -> float:
        statuses = [reply.status for reply in trajectory.replies if reply.status != "infra_error"]
        return statuses.count("ok") / len(statuses) if statuses else without_calls

    return outcome(score)
