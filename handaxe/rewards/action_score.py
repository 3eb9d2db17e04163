"""Rewards single actions: calls equal to a reference call, and folding of the memory."""

from collections.abc import Callable, Sequence

from handaxe.core.protocols import Reward
from handaxe.core.records import Task, ToolCall, Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.reference import gold_calls

__all__ = ["action_score", "count_correct_calls"]


def action_score(
    *,
    per_call: float = 1.0,
    fold: float = 0.5,
    fold_tool: str = "fold_memory",
    gold: Callable[[Task], Sequence[ToolCall]] = gold_calls,
) -> Reward:
    """Give a reward for each correct call, and a reward for a folded memory.

        R_action,i = lam1 * sum_t C(a_t) + lam2 * S_pref(i)
        C(a_t) = 1    call t equals, in name and arguments, a reference call that no earlier call used, else 0
        S_pref = 1    the rollout folded its memory at least once and completed, else 0

    Further calls cost nothing.

    Args:
        per_call: lam1, for each correct call; the paper's value is unconfirmed.
        fold: lam2, for folding; the paper's value is unconfirmed.
        fold_tool: name of the folding tool; a call with reply status "ok" counts.
        gold: the reference calls of a task; a task without one has no correct call.

    Returns:
        A reward with outcome [G], from 0 to per_call * (reference calls) + fold.

    Raises:
        TaskError: by `gold`, for a task without a list of calls.

    Example:
        references f(1) and g(); calls f(1), f(1), g(), completed  ->  1 + 0 + 1 = 2; with a fold  ->  2.5

    Paper: arXiv:2510.21618 (DeepAgent), R_action of ToolPO. Unconfirmed: both weights, and the comparison in S_pref.
    Differs: S_pref reads one rollout, where the paper compares rollouts with and without a fold.
    """

    def score(trajectory: Trajectory) -> float:
        folded = any(reply.name == fold_tool and reply.status == "ok" for reply in trajectory.replies)
        right = count_correct_calls(trajectory, gold(trajectory.task))
        return per_call * right + fold * (folded and trajectory.ending.kind == "completed")

    return outcome(score)


def count_correct_calls(trajectory: Trajectory, wanted: Sequence[ToolCall]) -> int:
    """Count the calls of a rollout that equal a reference call in name and arguments. Each reference call counts
    once.
    """
    left = [(call.name, dict(call.arguments)) for call in wanted]
    right = 0
    for call in trajectory.calls:
        made = (call.name, dict(call.arguments))
        if made in left:
            left.remove(made)
            right += 1
    return right
