"""Rewards the use of tools, whatever came of it."""

from collections.abc import Collection

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.rewards.outcome import outcome

__all__ = ["used_tools"]


def used_tools(*, tools: Collection[str] = (), every: bool = False) -> Reward:
    """Give 1 to an attempt in which tools were used with success, and 0 to others.

        R_i = 1  where some reply with status ok came from one of `tools` (every: from each of them),  else 0

    Calls that were refused, failed or ran out of time are no use of a tool.

    Args:
        tools: names; none stands for any tool.
        every: each of the tools must have been used, not one of them.

    Returns:
        A reward with outcome [G], 0 or 1.

    Raises:
        InputError: every of no tools; a string, which would be taken for the letters of one.

    Example:
        replies search ok, python failed: tools (search, python) -> 1;  every -> 0

    Paper: arXiv:2505.16410 (Tool-Star), the condition of r_M, with every.
    Differs: a call counts where it ran without error, not where it was written.
    """
    if isinstance(tools, str) or (every and not tools):
        raise InputError(f"tools is {tools!r}; give the names of tools, such as ('search', 'python')")
    names = set(tools)

    def score(trajectory: Trajectory) -> float:
        used = {reply.name for reply in trajectory.replies if reply.status == "ok"}
        if every:
            return float(names <= used)
        return float(bool(used & names if names else used))

    return outcome(score)
