"""Rewards an end in exactly the wanted state, of which the user was told all that was required."""

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
    """Give 1 where the databases end as wanted and every required text was told, else 0.

        R_i = 1[digest == gold_digest] * prod_s 1[lower(s) in some lower(m) without ","]

    s: required texts; m: what turns without a call said, which is what a user hears; a call that cannot be read is one,
    too. Format, tools and partial success earn nothing.

    Args:
        report: of an attempt: "digest" and "gold_digest", of the state it ended in and of the one that the right calls
            lead to, and "outputs", the required texts (none: []); default what the environment reported. Only the
            message loses its commas, so that a required text with a comma is never found, as in the released code.

    Returns:
        A reward with outcome [G] of 0 and 1. An attempt without a turn has told nothing; how it ended does not count.

    Raises:
        TaskError: the environment reports no digest, so that no state can be compared.

    Example:
        required ["1234"], told "Total is $1,234.", equal digests  ->  1
        the same told, one field of the database differs           ->  0

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
        spoken = [one.parsed for one in trajectory.turns if not (one.parsed.calls or one.parsed.errors)]
        told = [one.text.lower().replace(",", "") for one in spoken]
        heard = all(any(one.lower() in text for text in told) for one in outputs)
        return float(found["digest"] == found["gold_digest"] and heard)

    return outcome(score)
