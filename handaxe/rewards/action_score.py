"""Rewards single actions: calls that equal a reference call, and a memory that was folded on the way to an end."""

from collections.abc import Callable, Sequence

from handaxe.core.protocols import Reward
from handaxe.core.records import Task, ToolCall, Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.reference import gold_calls

__all__ = ["action_score", "right_calls"]


def action_score(
    *,
    per_call: float = 1.0,
    fold: float = 0.5,
    fold_tool: str = "fold_memory",
    gold: Callable[[Task], Sequence[ToolCall]] = gold_calls,
) -> Reward:
    """Give so much for each right call, and so much for a folded memory.

        R_action,i = lam1 * sum_t C(a_t) + lam2 * S_pref(i)
        C(a_t) = 1    call t equals a reference call in name and arguments that no call before it took, else 0
        S_pref = 1    the attempt folded its memory at least once and was completed, else 0

    Further calls cost nothing.

    Args:
        per_call: lam1, for each right call; the paper's value is unconfirmed.
        fold: lam2, for folding; the paper's value is unconfirmed.
        fold_tool: name of the tool that folds, a call of which was answered with "ok".
        gold: the reference calls of a task; none is a task in which no call is right.

    Returns:
        A reward with outcome [G], from 0 to per_call * (reference calls) + fold.

    Raises:
        TaskError: by `gold`, for a task without a list of calls.

    Example:
        references f(1) and g(); calls f(1), f(1), g(), completed  ->  1 + 0 + 1 = 2; with a fold besides  ->  2.5

    Paper: arXiv:2510.21618 (DeepAgent), R_action of ToolPO. Unconfirmed: both weights, and what S_pref compares.
    Differs: S_pref looks at one attempt, where the paper compares attempts that fold with attempts that do not.
    """

    def score(trajectory: Trajectory) -> float:
        folded = any(reply.name == fold_tool and reply.status == "ok" for reply in trajectory.replies)
        right = right_calls(trajectory, gold(trajectory.task))
        return per_call * right + fold * (folded and trajectory.ending.kind == "completed")

    return outcome(score)


def right_calls(trajectory: Trajectory, wanted: Sequence[ToolCall]) -> int:
    """How many of an attempt's calls equal a wanted one in name and arguments, each of these counted once."""
    left = [(call.name, dict(call.arguments)) for call in wanted]
    right = 0
    for call in trajectory.calls:
        made = (call.name, dict(call.arguments))
        if made in left:
            left.remove(made)
            right += 1
    return right
