"""Stated confidence: parsers of the mark at the end of an answer, and a reward channel.

Example:
    final text "408 c7"    stated_confidence -> 0.7     strip_confidence -> "408"
    final text "408"       stated_confidence -> None    strip_confidence -> "408"
Idea: a confidence in one of eleven steps is one short word, within reach of a policy of any size.
"""

import re
from collections.abc import Callable

from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.rewards.outcome import outcome

__all__ = ["Confidence", "UNSTATED", "confidence_channel", "stated_confidence", "strip_confidence"]

Confidence = Callable[[Trajectory], float | None]
"""Stated confidence of a trajectory, 0 to 1; None without one."""
UNSTATED = -1.0
"""Value of the channel "confidence" without a stated confidence."""
MARK = re.compile(r"(?<!\S)c(10|\d)\Z")


def stated_confidence(trajectory: Trajectory) -> float | None:
    """Parse the last word of the final text, c0 to c10, as a confidence from 0 to 1. Return None for any other word."""
    found = MARK.search(trajectory.final_text.rstrip())
    return None if found is None else int(found[1]) / 10


def strip_confidence(trajectory: Trajectory) -> str:
    """Return the final text without the confidence mark and surrounding white space."""
    return MARK.sub("", trajectory.final_text.rstrip()).strip()


def confidence_channel(confidence: Confidence) -> Reward:
    """Create a reward with the confidence as outcome [G], `UNSTATED` without confidence.

    Raises:
        VerifierError: a confidence outside 0 to 1; the message names the trajectory.
    """

    def stated(trajectory: Trajectory) -> float:
        found = confidence(trajectory)
        if found is not None and not 0 <= found <= 1:
            raise ValueError(f"a confidence of {found} is not between 0 and 1")
        return UNSTATED if found is None else found

    return outcome(stated)
