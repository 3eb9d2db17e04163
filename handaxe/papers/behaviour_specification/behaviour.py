"""Indicator of a behaviour of a rollout: a call, or a failed call."""

from __future__ import annotations

from typing import Literal

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.rewards.outcome import outcome

__all__ = ["Behaviour", "behaviour"]

Behaviour = Literal["call", "failed_call"]


def behaviour(*, kind: Behaviour) -> Reward:
    """Score 1 for a rollout with a behaviour, else 0, so that a mean is the share of rollouts with the behaviour.

        call          1[calls_i + malformed calls_i > 0]
        failed_call   1[malformed calls_i + results of calls_i other than ok > 0]

    A result with status infra_error does not count: the policy is not at fault.

    Args:
        kind: call or failed_call.

    Returns:
        A reward with outcome [G], 0 or 1.

    Raises:
        InputError: another kind.

    Example:
        results ok, failed -> 1 and 1;  a malformed call -> 1 and 1;  ok, infra_error -> 1 and 0;  no call -> 0 and 0

    Paper: arXiv:2112.12228 (Direct Behaviour Specification), indicator costs.
    Differs: the indicator is of a rollout; the paper's are of a step.
    """
    if kind not in ("call", "failed_call"):
        raise InputError(f"kind is {kind!r}; give call or failed_call")

    def called(one: Trajectory) -> float:
        return float(any(turn.parsed.calls or turn.parsed.errors for turn in one.turns))

    def failed(one: Trajectory) -> float:
        bad = any(reply.status not in ("ok", "infra_error") for reply in one.replies)
        return float(bad or any(turn.parsed.errors for turn in one.turns))

    return outcome(called if kind == "call" else failed)
