"""Rewards the use of tools, independent of the answer."""

from collections.abc import Collection

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.rewards.outcome import outcome

__all__ = ["used_tools"]


def used_tools(*, tools: Collection[str] = (), every: bool = False) -> Reward:
    """Give 1 to a rollout with a successful call, else 0.

        R_i = 1  if some reply with status ok came from one of `tools` (every: from each of them),  else 0

    Refused, failed and timed-out calls do not count.

    Args:
        tools: names; empty for any tool.
        every: each of the tools must have been used, not one of them.

    Returns:
        A reward with outcome [G], 0 or 1.

    Raises:
        InputError: every without tools; a string, which would be read as a list of letters.

    Example:
        replies search ok, python failed: tools (search, python) -> 1;  every -> 0

    Paper: arXiv:2505.16410 (Tool-Star), the condition of r_M, with every.
    Differs: a call counts if it ran without error; in the paper, if it was written.
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
