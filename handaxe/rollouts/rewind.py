"""Start a play at a turn of a recorded trajectory."""

from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Trajectory
from handaxe.core.requests import Attempt
from handaxe.core.usage import Usage
from handaxe.ops.rewindable import rewind_obstacle
from handaxe.ops.turn_positions import turn_positions
from handaxe.rollouts.play import Beginning, Mark, Play, Rules
from handaxe.rollouts.play.sequence_builder import SequenceBuilder

__all__ = ["rewind"]


def rewind(attempt: Attempt, rules: Rules, trajectory: Trajectory, *, turn: int, again: bool = True) -> Play:
    """Make a play that begins with the first turns of a recorded trajectory of the same task.

        ids = the recorded ids up to the start of turn k, as sampled, with log-probs and versions
        environment: made and started again, then asked for turns 0 .. k - 1 with their recorded seeds, one Act each

    No snapshot is needed. If the environment's opening or any reply differs from the record (messages; name, text and
    status of replies; facts; `done`), the rollout ends as infra_error before the policy is sampled, so no training
    happens on a different state.

    `Trajectory.total_usage` leaves out the tokens, seconds and cost of the recorded sampling, and includes the replayed
    calls. A budget counts all of it, as for a fork.

    Args:
        attempt: its environment, format and seeds play on; turn n draws from derive_seed(attempt.seed, n).
        rules: of the whole; without snapshots.
        trajectory: finished; it may itself come from a rewind.
        turn: k, in [0, number of its turns); the first turn to sample.
        again: False skips replaying the environment, for a play without replies.

    Returns:
        The play, not begun. Its `branch_of` is the end of the recorded part, so that `mask_shared_prefix` excludes the
        recorded part from training.

    Raises:
        InputError: there is no such turn, the attempt has another task, the rules ask for snapshots, or the record is
            incomplete for a rewind, as `ops.rewindable` explains.

    Example:
        rewind(attempt, Rules(max_turns=6), success, turn=len(success.turns) - 1).plan() plays its last turn again

    Idea: seeds and recorded turns determine the state of a deterministic environment; determinism is checked on the
    way.
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
