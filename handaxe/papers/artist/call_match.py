"""Reward for reference calls made with equal arguments."""

from collections.abc import Callable, Sequence

from handaxe.core.errors import TaskError
from handaxe.core.protocols import Reward
from handaxe.core.records import Task, ToolCall, Trajectory, Turn
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.reference import gold_calls

__all__ = ["call_match", "user_turn"]


def user_turn(turn: Turn) -> int | None:
    """Number of the user's turn of a policy's turn, from the facts."""
    return turn.facts.get("user_turn")


def call_match(
    *,
    most: float = 0.5,
    gold: Callable[[Task], Sequence[ToolCall]] = gold_calls,
    by_turn: Callable[[Task], Sequence[Sequence[ToolCall]]] | None = None,
    number: Callable[[Turn], int | None] = user_turn,
) -> Reward:
    """Reward the share of reproduced reference calls, in any order.

        R_i = FR_max * F_match / F_total
        F_total = reference calls;  F_match = those equal in name and arguments to a call made, each call used once

    With `by_turn` both are sums over the user's turns u: a call is compared with the reference calls of its own turn.
    Further calls cost nothing.

    Args:
        most: FR_max, reward of a full match.
        gold: reference calls of a task.
        by_turn: reference calls of a task by the user's turn, in place of `gold`, as in the paper. None: all turns are
            one pool.
        number: user's turn of a policy's turn, None for none; by default from its facts.

    Returns:
        A reward with outcome [G] in [0, most].

    Raises:
        TaskError: the task has no reference call.

    Example:
        2 of 4 reference calls made, most 0.5  ->  0.25
        by turn: references (f), (g); f and g both called in turn 0, most 0.5  ->  0.25

    Paper: arXiv:2505.01441 (ARTIST), R_function.
    Unconfirmed: FR_max = 0.5.
    Differs: nothing known with `by_turn`; without it the whole trajectory is one pool.
    """

    def score(trajectory: Trajectory) -> float:
        if by_turn is None:
            parts = [(gold(trajectory.task), trajectory.calls)]
        else:
            references = list(by_turn(trajectory.task))
            parts = [(calls, _calls_in(trajectory, n, number)) for n, calls in enumerate(references)]
        total = sum(len(calls) for calls, _ in parts)
        if not total:
            raise TaskError(f"task {trajectory.task.id!r} has no reference call")
        return most * sum(_matched(*part) for part in parts) / total

    return outcome(score)


def _calls_in(trajectory: Trajectory, n: int, number: Callable[[Turn], int | None]) -> list[ToolCall]:
    return [call for turn in trajectory.turns if number(turn) == n for call in turn.parsed.calls]


def _matched(references: Sequence[ToolCall], made: Sequence[ToolCall]) -> int:
    """Number of matched reference calls; each call matches once."""
    unused = [(call.name, dict(call.arguments)) for call in made]
    matched = 0
    for call in references:
        one = (call.name, dict(call.arguments))
        if one in unused:
            unused.remove(one)
            matched += 1
    return matched
