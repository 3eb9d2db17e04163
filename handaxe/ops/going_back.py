"""Whether a recorded attempt says enough to be begun again in its middle: one answer for who does and who stores it."""

from handaxe.core.records import Trajectory

__all__ = ["ANEW", "why_not_back"]

ANEW = "anew"
"""The key of the notes under which a play says what its later sequences began with; see `rollouts.play.history`."""


def why_not_back(trajectory: Trajectory) -> str:
    """Why no turn of an attempt can be gone back to, "" where each can; `rollouts.rewind` does it.

    What others said in it stands in no message of the policy's, ids of another engine are not its own, and a sequence
    that a strategy began says not what was read before it. A turn that was put there, or has forced words, can be gone
    back to, and so can an attempt that broke off: what is gone back to is what was answered.

    Example:
        an attempt in which a simulated user was asked  ->  "others were asked in it"
    """
    if trajectory.asked:
        return "others were asked in it"
    if trajectory.by:
        return "another engine played it"
    return "a strategy began a new sequence in it" if trajectory.notes.get(ANEW) else ""
