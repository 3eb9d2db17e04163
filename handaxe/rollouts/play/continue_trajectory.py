"""From a trajectory that is over, a play that goes on after it: the same tokens, then what is said next."""

from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Trajectory
from handaxe.core.requests import Attempt
from handaxe.ops.turn_positions import turn_positions
from handaxe.rollouts.play import Beginning, Mark, Play, Rules
from handaxe.rollouts.play.history import history, starts_after
from handaxe.rollouts.play.sequence_builder import SequenceBuilder

__all__ = ["continue_trajectory"]


def continue_trajectory(trajectory: Trajectory, said: Sequence[Message], attempt: Attempt, rules: Rules) -> Play:
    """Make a play that begins with all of a trajectory, and goes on with further messages.

        ids = all of the trajectory's, as they were sampled + what the format makes of `said`, and the next header

    A trajectory that was begun anew goes on in its last sequence, and reads what stands there.

    What stood in the trajectory's messages behind its last turn and in no sequence, since nothing followed it there, is
    rendered with them. Turn k draws from derive_seed(attempt.seed, k), counted from the trajectory's first.

    Args:
        trajectory: over, with a turn at least.
        said: what comes next, such as a question.
        attempt: whose environment goes on from where it was: nothing is restored, and what it says when it is started
            is not looked at.
        rules: of the whole; those of its turns that were played count.

    Returns:
        The play, not begun. Its first sequence is longer than the context where `said` does not fit: it then ends
        truncated for "length" before it sampled anything.

    Raises:
        InputError: there is no turn to go on after, others were asked or turns taken back in it, or the format refuses
            the conversation.

    Example:
        continue_trajectory(first, [Message("user", "and in feet?")], attempt, Rules(max_turns=9)).plan()

    Idea: a conversation is one growing sequence; what the policy said is never encoded again.
    """
    if not trajectory.turns:
        raise InputError(f"trajectory {trajectory.id!r} has no turn, so there is nothing to go on after")
    if trajectory.aux_turns or trajectory.total_usage:
        raise InputError(f"{trajectory.id!r} asked others or took turns back, which what follows could not count")
    builders = [SequenceBuilder.of(sequence) for sequence in trajectory.sequences]
    messages, last = list(trajectory.messages), trajectory.turns[-1]
    spoken = turn_positions(messages, turns=1)[0] + 1
    ids = builders[last.sequence].ids[last.start : last.stop]
    if starts_after(trajectory.notes, spoken):  # it was over before a turn was taken in its last sequence
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
