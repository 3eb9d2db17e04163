"""Rewards attempts that never make the same call twice."""

from collections.abc import Collection

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.ops.calls import call_key
from handaxe.rewards.outcome import outcome

__all__ = ["no_repeats"]


def no_repeats(*, tools: Collection[str] = ()) -> Reward:
    """Give 1 to an attempt in which no call equals an earlier one, else 0.

        R_i = 1 if all (name, arguments) of the attempt's calls differ, else 0

    Calls are equal where name and arguments are, as JSON; the order in which arguments are written does not count,
    and 1 is 1.0 (`ops.calls.call_key`).
    Calls that were refused count too, malformed ones do not.

    Args:
        tools: names of those whose calls may not repeat; none stands for all.

    Returns:
        A reward with outcome [G] of 0 and 1. Without a call: 1.

    Raises:
        InputError: a string for tools, which would be taken for the letters of one.

    Example:
        view 8 16, view 0 8 -> 1;  view 8 16, view 0 8, view 8 16 -> 0

    Paper: arXiv:2511.12908 (DeepSport), a repeated interval as a violation of the format.
    Differs: of any tool's calls, unless `tools` names some.
    """
    if isinstance(tools, str):
        raise InputError(f"tools is {tools!r}; give the names of tools, such as ('view', 'zoom')")
    names = set(tools)

    def score(trajectory: Trajectory) -> float:
        made = [call_key(call) for call in trajectory.calls if not names or call.name in names]
        return float(len(set(made)) == len(made))

    return outcome(score)
