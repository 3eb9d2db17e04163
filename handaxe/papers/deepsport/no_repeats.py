"""Reward for rollouts without repeated calls."""

from collections.abc import Collection

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.ops.tool_calls import call_key
from handaxe.rewards.outcome import outcome

__all__ = ["no_repeats"]


def no_repeats(*, tools: Collection[str] = ()) -> Reward:
    """Give 1 to a rollout without equal calls, else 0.

        R_i = 1 if all (name, arguments) of the rollout's calls differ, else 0

    Calls are equal if name and arguments are, as JSON; the order of arguments does not count, and 1 equals 1.0
    (`ops.tool_calls.call_key`). Rejected calls count, malformed ones do not.

    Args:
        tools: names of tools that may not repeat a call; empty for all tools.

    Returns:
        A reward with outcome [G] of 0 and 1. Without a call: 1.

    Raises:
        InputError: a string for tools, whose letters would be taken as names.

    Example:
        view 8 16, view 0 8 -> 1;  view 8 16, view 0 8, view 8 16 -> 0

    Paper: arXiv:2511.12908 (DeepSport), a repeated interval as a violation of the format.
    Differs: applies to calls of every tool, unless `tools` lists some.
    """
    if isinstance(tools, str):
        raise InputError(f"tools is {tools!r}; give the names of tools, such as ('view', 'zoom')")
    names = set(tools)

    def score(trajectory: Trajectory) -> float:
        made = [call_key(call) for call in trajectory.calls if not names or call.name in names]
        return float(len(set(made)) == len(made))

    return outcome(score)
