"""Budget tracker: used and remaining calls of every tool, and regimes of the remaining share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from handaxe.core.errors import InputError

__all__ = ["Regime", "budget_policy", "budget_regime", "budget_tracker"]

Regime = Literal["HIGH", "MEDIUM", "LOW", "CRITICAL"]
REGIMES: tuple[tuple[Regime, int, str], ...] = (
    ("HIGH", 70, "explore broadly, several queries"),
    ("MEDIUM", 30, "converge"),
    ("LOW", 10, "one focused query"),
    ("CRITICAL", 0, "answer, avoid the tool"),
)
"""Name, least remaining share in percent, and advice."""


def budget_regime(remaining: int, limit: int) -> Regime:
    """Classify the remaining share of a tool's budget.

        HIGH      if remaining / limit >= 0.7
        MEDIUM    if remaining / limit >= 0.3
        LOW       if remaining / limit >= 0.1
        CRITICAL  else, and if limit = 0

    The comparison is exact, in integers.

    Args:
        remaining: calls, from 0 to limit.
        limit: calls.

    Raises:
        InputError: remaining is outside of 0 to limit.

    Example:
        7 of 10 -> HIGH;  3 of 10 -> MEDIUM;  1 of 10 -> LOW;  0 of 10 -> CRITICAL

    Paper: arXiv:2511.17006 (BATS), section 3, the regimes of the budget tracker.
    Unconfirmed: the thresholds, from a secondary source.
    Differs: nothing.
    """
    if not 0 <= remaining <= limit:
        raise InputError(f"{remaining} calls remain of {limit}: give 0 to the limit")
    fitting = [name for name, percent, _ in REGIMES if 100 * remaining >= percent * limit]
    return fitting[0] if limit else "CRITICAL"


def budget_policy() -> str:
    """Describe the regimes for the first turn of a rollout.

    Example:
        "Budget left of a tool: HIGH (70% or more): explore broadly, several queries. MEDIUM (30% ..."
    """
    shares = [f"{percent}% or more" if percent else "less" for _, percent, _ in REGIMES]
    lines = [f"{name} ({share}): {advice}." for share, (name, _, advice) in zip(shares, REGIMES, strict=True)]
    return " ".join(["Budget left of a tool:", *lines])


def budget_tracker(used: Mapping[str, int], limits: Mapping[str, int]) -> str:
    """Write the block that follows every tool result: used and remaining calls, a line a tool.

    Args:
        used: executed calls by tool; a missing tool has 0.
        limits: largest number of calls by tool, in the order of the lines.

    Returns:
        Lines "TOOL used: x, remaining: y", never below 0.

    Example:
        used search 3, limits search 10 and browse 2
        ->  "search used: 3, remaining: 7" and "browse used: 0, remaining: 2"

    Paper: arXiv:2511.17006 (BATS), section 3, the budget tracker.
    Differs: nothing.
    """
    lines = []
    for tool, limit in limits.items():
        own = used.get(tool, 0)
        lines.append(f"{tool} used: {own}, remaining: {max(0, limit - own)}")
    return "\n".join(lines)
