"""Rewards each turn by what came of its calls."""

from collections.abc import Mapping

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Status, Trajectory
from handaxe.rewards.per_turn import per_turn

__all__ = ["reply_status"]

FAILED: Mapping[Status, float] = {"failed": -0.5, "timeout": -0.5, "invalid": -0.5, "retry": -0.5}


def reply_status(*, values: Mapping[Status, float] = FAILED, malformed: float = -0.5) -> Reward:
    """Score every turn by the worst of the replies to its calls.

        r_n = min over replies of turn n of values[status]   (0 for a status without a value), over `malformed` too
              where a call of the turn could not be read;    0 for a turn that called nothing

    A reply whose status is infra_error counts nowhere: it is not the policy's fault.

    Args:
        values: what a reply of each status is worth; ok, retry, failed, invalid and timeout.
        malformed: what a call that could not be read is worth.

    Returns:
        A reward with outcome 0 and turns, per trajectory [N]; `total` and `average` make them part of the outcome.

    Raises:
        InputError: a status that replies do not have, or infra_error.

    Example:
        replies (ok), (ok, failed), no call  ->  turns 0, -0.5, 0

    Paper: arXiv:2512.17312 (CodeDance), the step reward, from its released code.
    Differs: whatever did not run without error has failed; there, what the reply's text says.
    """
    unknown = set(values) - {"ok", "retry", "failed", "invalid", "timeout"}
    if unknown:
        raise InputError(f"replies are never {sorted(unknown)}; give values for ok, retry, failed, invalid and timeout")

    def worst(trajectory: Trajectory) -> list[float]:
        worth = []
        for turn in trajectory.turns:
            seen = [values.get(reply.status, 0.0) for reply in turn.replies if reply.status != "infra_error"]
            worth.append(min(seen + [malformed] * bool(turn.parsed.errors), default=0.0))
        return worth

    return per_turn(worst)
