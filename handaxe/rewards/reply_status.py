"""Rewards turns by the status of tool results."""

from collections.abc import Mapping

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Status, Trajectory
from handaxe.rewards.per_turn import per_turn

__all__ = ["reply_status"]

FAILED: Mapping[Status, float] = {"failed": -0.5, "timeout": -0.5, "invalid": -0.5, "retry": -0.5}


def reply_status(*, values: Mapping[Status, float] = FAILED, malformed: float = -0.5) -> Reward:
    """Score every turn by the worst status of the tool results.

        r_n = min over replies of turn n of values[status]   (0 for a status without a value), and of `malformed` if a
              call of the turn could not be parsed;    0 for a turn without a call

    A reply with status infra_error does not count: the policy is not at fault.

    Args:
        values: status -> value; ok, retry, failed, invalid and timeout.
        malformed: value of a call that could not be parsed.

    Returns:
        A reward with outcome 0 and turns, per trajectory [N]; `turns_to_outcome` adds them to the outcome.

    Raises:
        InputError: an unknown status, or infra_error.

    Example:
        replies (ok), (ok, failed), no call  ->  turns 0, -0.5, 0

    Paper: arXiv:2512.17312 (CodeDance), the step reward, from its released code.
    Differs: a call has failed unless it ran without error; released code reads the reply's text.
    """
    unknown = set(values) - {"ok", "retry", "failed", "invalid", "timeout"}
    if unknown:
        raise InputError(f"unknown statuses {sorted(unknown)}; give values for ok, retry, failed, invalid and timeout")

    def worst(trajectory: Trajectory) -> list[float]:
        worth = []
        for turn in trajectory.turns:
            seen = [values.get(reply.status, 0.0) for reply in turn.replies if reply.status != "infra_error"]
            worth.append(min(seen + [malformed] * bool(turn.parsed.errors), default=0.0))
        return worth

    return per_turn(worst)
