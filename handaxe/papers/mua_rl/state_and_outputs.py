"""Reward for the gold final state and all required outputs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from handaxe.core.errors import TaskError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.rewards.outcome import outcome

__all__ = ["state_and_outputs"]


def state_and_outputs(
    *, report: Callable[[Trajectory], Mapping[str, Any]] = lambda trajectory: trajectory.env
) -> Reward:
    """Score 1 if the database ends in the gold state and every required text was told to the user, else 0.

        R_i = 1[digest == gold_digest] * prod_s 1[lower(s) in some lower(m) without ","]

    s: required texts; m: texts of turns without a call, the messages that a user reads. A malformed call counts as a
    call. Format, tool use and partial success earn nothing.

    Args:
        report: trajectory -> "digest" and "gold_digest", of the final state and of the state after the gold calls, and
            "outputs", the required texts (none: []); by default the environment's report. Only the message loses its
            commas, so that a required text with a comma is never found, as in the released code.

    Returns:
        A reward with outcome [G] of 0 and 1. A trajectory without a turn has told nothing; its ending does not matter.

    Raises:
        TaskError: the environment reports no digest.

    Example:
        required ["1234"], message "Total is $1,234.", equal digests  ->  1
        the same message, one field of the database differs           ->  0

    Paper: arXiv:2508.18669 (MUA-RL), the outcome reward.
    Differs: nothing known; read from the released code.
    """

    def score(trajectory: Trajectory) -> float:
        found = report(trajectory)
        if "digest" not in found or "gold_digest" not in found:
            raise TaskError(
                f"the environment of task {trajectory.task.id!r} reports no digest of its state: "
                "play a world that does, such as tau2"
            )
        outputs: Sequence[str] = found.get("outputs") or ()
        messages = [one.parsed for one in trajectory.turns if not (one.parsed.calls or one.parsed.errors)]
        texts = [one.text.lower().replace(",", "") for one in messages]
        complete = all(any(one.lower() in text for text in texts) for one in outputs)
        return float(found["digest"] == found["gold_digest"] and complete)

    return outcome(score)
