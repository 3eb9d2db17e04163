"""Test whether a recorded trajectory can be resumed at a given turn."""

from handaxe.core.records import Trajectory

__all__ = ["NEW_SEQUENCE_NOTE", "rewind_obstacle"]

NEW_SEQUENCE_NOTE = "anew"
"""Key of the notes that list the opening of each later sequence; see `rollouts.play.history`."""


def rewind_obstacle(trajectory: Trajectory) -> str:
    """Name the reason why a trajectory cannot be resumed at any turn; "" if every turn can be resumed.

    `rollouts.rewind` resumes trajectories. Three kinds cannot be resumed:

        auxiliary turns       a message of another engine is no message of the policy
        another engine        token ids of another engine do not fit the policy's tokenizer
        a new sequence        a sequence that a strategy began lacks the messages before it

    Spliced turns, forced tokens and truncated trajectories do not matter: replies are taken from the record.

    Example:
        a trajectory that asked a simulated user  ->  "it contains auxiliary turns"
    """
    if trajectory.aux_turns:
        return "it contains auxiliary turns"
    if trajectory.by:
        return "another engine sampled it"
    return "a strategy began a new sequence in it" if trajectory.notes.get(NEW_SEQUENCE_NOTE) else ""
