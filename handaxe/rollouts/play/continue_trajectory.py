"""Continue a finished trajectory with further messages."""

from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Trajectory
from handaxe.core.requests import Attempt
from handaxe.ops.turn_positions import turn_positions
from handaxe.rollouts.play import Beginning, Mark, Play, Rules
from handaxe.rollouts.play.history import history, starts_beyond
from handaxe.rollouts.play.sequence_builder import SequenceBuilder

__all__ = ["continue_trajectory"]


def continue_trajectory(trajectory: Trajectory, said: Sequence[Message], attempt: Attempt, rules: Rules) -> Play:
    """Make a play that begins with a whole trajectory and continues with further messages.

        ids = all ids of the trajectory, as sampled + the rendering of `said`, and the next header

    A trajectory with several sequences continues in its last one.

    Messages after the trajectory's last turn that are in no sequence are rendered with `said`. Turn k draws from
    derive_seed(attempt.seed, k), counted from the trajectory's first.

    Args:
        trajectory: finished, with at least one turn.
        said: the next messages, such as a question.
        attempt: its environment continues in its current state: nothing is restored, and its opening messages are
            ignored.
        rules: of the whole, finished turns included.

    Returns:
        The play, not begun. If `said` does not fit, the first sequence exceeds the context: the play then ends
        truncated for "length" without sampling.

    Raises:
        InputError: the trajectory has no turn, has auxiliary turns or turns taken back, or the format rejects the
            conversation.

    Example:
        continue_trajectory(first, [Message("user", "and in feet?")], attempt, Rules(max_turns=9)).plan()

    Idea: a conversation is one growing sequence; sampled tokens are never encoded again.
    """
    if not trajectory.turns:
        raise InputError(f"trajectory {trajectory.id!r} has no turn, so there is nothing to go on after")
    if trajectory.aux_turns or trajectory.total_usage:
        raise InputError(f"{trajectory.id!r} asked others or took turns back, which what follows could not count")
    builders = [SequenceBuilder.of(sequence) for sequence in trajectory.sequences]
    messages, last = list(trajectory.messages), trajectory.turns[-1]
    spoken = turn_positions(messages, turns=1)[0] + 1
    ids = builders[last.sequence].ids[last.start : last.stop]
    if starts_beyond(trajectory.notes, spoken):  # it ended before a turn of its last sequence
        part = attempt.format.start([*history(messages, trajectory.notes), *said], trajectory.tools)
        builders[-1] = SequenceBuilder(part)
        return _play(trajectory, said, attempt, rules, builders)
    before = history(messages[:spoken], trajectory.notes)
    part = attempt.format.extend(before, [*messages[spoken:], *said], ids, trajectory.tools)
    if part.fresh:
        builders.append(SequenceBuilder(part))
    else:
        builders[-1].append_rendered(part, turn=len(trajectory.turns) - 1)
    return _play(trajectory, said, attempt, rules, builders)


def _play(
    trajectory: Trajectory, said: Sequence[Message], attempt: Attempt, rules: Rules, builders: list[SequenceBuilder]
) -> Play:
    messages = [*trajectory.messages, *said]
    beginning = Beginning(
        branch=None,
        messages=messages,
        tools=trajectory.tools,
        turns=list(trajectory.turns),
        sequences=builders,
        marks=[Mark(len(messages), None, dict(trajectory.notes))],
    )
    return Play(attempt, rules, beginning=beginning)
