"""How sure an attempt says it is: readers of a mark at the end of the answer, and the reward channel that keeps it.

Example:
    final text "408 c7"    stated_confidence -> 0.7     without_confidence -> "408"
    final text "408"       stated_confidence -> None    without_confidence -> "408"
Idea: confidence in one of eleven steps is one short word, which a policy of any size can write.
"""

import re
from collections.abc import Callable

from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.rewards.outcome import outcome

__all__ = ["Confidence", "UNSTATED", "as_channel", "stated_confidence", "without_confidence"]

Confidence = Callable[[Trajectory], float | None]
"""How sure an attempt says it is, 0 to 1; None where it does not say."""
UNSTATED = -1.0
"""What the channel "confidence" holds where none is stated."""
MARK = re.compile(r"(?<!\S)c(10|\d)\Z")


def stated_confidence(trajectory: Trajectory) -> float | None:
    """0 to 1 by the last word of the last turn's text, c0 to c10; None where it is another."""
    found = MARK.search(trajectory.final_text.rstrip())
    return None if found is None else int(found[1]) / 10


def without_confidence(trajectory: Trajectory) -> str:
    """The last turn's text before that word, without surrounding white space."""
    return MARK.sub("", trajectory.final_text.rstrip()).strip()


def as_channel(confidence: Confidence) -> Reward:
    """A reward whose outcome [G] is the confidence, `UNSTATED` where there is none.

    Raises:
        VerifierError: naming the trajectory, for a confidence outside 0 to 1.
    """

    def stated(trajectory: Trajectory) -> float:
        found = confidence(trajectory)
        if found is not None and not 0 <= found <= 1:
            raise ValueError(f"a confidence of {found} is not between 0 and 1")
        return UNSTATED if found is None else found

    return outcome(stated)
