"""From a recorded attempt, a play that begins where one of its turns began."""

from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Trajectory, Usage
from handaxe.core.requests import Attempt
from handaxe.ops.rewindable import rewind_obstacle
from handaxe.ops.turn_positions import turn_positions
from handaxe.rollouts.play import Beginning, Mark, Play, Rules
from handaxe.rollouts.play.sequence_builder import SequenceBuilder

__all__ = ["rewind"]


def rewind(attempt: Attempt, rules: Rules, trajectory: Trajectory, *, turn: int, again: bool = True) -> Play:
    """Make a play that begins with the first turns of a recorded attempt at the same task.

        ids = the recorded ones up to where turn k began, as they were sampled, with their log-probs and versions
        environment: made and started anew, then asked the turns 0 .. k - 1 with their recorded seeds, one Act each

    So no snapshot is needed, and none has to be kept. Where the environment opens otherwise than then, or says anything
    else to a turn (messages; name, text and status of replies; facts; whether it is over), the attempt ends as
    infra_error before the policy is asked: nothing is trained on a state that is not the recorded one.

    What was recorded was not sampled again: `Trajectory.total_usage` leaves the tokens, seconds and cost of its
    sampling out, and has its calls, which are made once more. A budget counts all of it, as for a fork.

    Args:
        attempt: whose environment, format and seeds play on; turn n draws from derive_seed(attempt.seed, n).
        rules: of the whole; without snapshots.
        trajectory: over; it may have been rewound to in turn.
        turn: k, in [0, number of its turns); the turn that is sampled anew.
        again: False: the environment is not brought there, for what is not to be answered.

    Returns:
        The play, not begun. Its `branch_of` says where it leaves the recorded attempt, so that `own_part` trains
        nothing of what was recorded.

    Raises:
        InputError: there is no such turn, the attempt is at another task, the rules want snapshots, or the record does
            not say enough, as `ops.rewindable` tells.

    Example:
        rewind(attempt, Rules(max_turns=6), success, turn=len(success.turns) - 1).plan() plays its last turn again

    Idea: seeds and recorded turns are the state of a deterministic environment; whether it is, is seen on the way.
    """
    if not 0 <= turn < len(trajectory.turns):
        raise InputError(f"{trajectory.id!r} has {len(trajectory.turns)} turns; there is no turn {turn} to begin at")
    if attempt.task.id != trajectory.task.id:
        raise InputError(f"{trajectory.id!r} is an attempt at {trajectory.task.id!r}, not at {attempt.task.id!r}")
    if rules.snapshots:
        raise InputError("a play that begins in a recorded attempt has no snapshots: leave them out of its rules")
    if why_not := rewind_obstacle(trajectory):
        raise InputError(f"{trajectory.id!r} cannot be gone back to: {why_not}")
    first = trajectory.turns[turn]
    cut = turn_positions(trajectory.messages, turns=len(trajectory.turns))[turn]
    builders = [SequenceBuilder.of(sequence) for sequence in trajectory.sequences[: first.sequence + 1]]
    shared = trajectory.turns[:turn]
    spared = Usage(
        -sum(one.stop - one.start for one in shared),
        0,
        -sum(one.seconds for one in shared),
        -sum(one.cost for one in shared),
    )
    beginning = Beginning(
        branch=Branch(trajectory.id, first.sequence, first.start),
        messages=list(trajectory.messages[:cut]),
        tools=trajectory.tools,
        turns=list(shared),
        sequences=[*builders[:-1], builders[-1].prefix(first.start)],
        marks=[Mark(cut, None, {})],
        replayed=spared if again else None,
    )
    return Play(attempt, rules, beginning=beginning)
