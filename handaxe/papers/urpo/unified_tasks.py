"""World of verifiable, ranking and open-ended tasks, mixed."""

from __future__ import annotations

from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.curricula.interleaved import Order, interleaved
from handaxe.envs.tool_chat import tool_chat
from handaxe.papers.urpo.kendall_reward import reply_tau
from handaxe.papers.urpo.requests import answer_quality, rankings, requests
from handaxe.worlds.judging.links import links
from handaxe.worlds.mixture import PART, mixture, part_gauge
from handaxe.worlds.world import Start, World

__all__ = ["mix_parts", "unified_tasks"]

WEIGHTS = {"verifiable": 1, "ranking": 3, "open": 1}
"""Tasks of each part in a cycle of demonstrations and held-out tasks."""
START = Start(skill=300, steps=0, batch_size=16, learning_rate=2e-3)


def unified_tasks(*, careless: float = 0.0) -> World:
    """Verifiable tasks (two links in a table), ranking tasks, and open-ended requests, for one policy.

    Args:
        careless: share of the open-ended requests that the expert answers at random, see `requests`.

    Returns:
        A world broken down by "part". Gauges: tau (Kendall's tau of the replies to ranking tasks) and quality (true
        score of the answers to open-ended tasks).

    Example:
        "3421 1", then "bdf hi 1st" with two answers to score, then "bdf hi 1st"

    Paper: arXiv:2507.17515 (URPO), three kinds of data in one format.
    Differs: the tasks have a few bytes; the quality of an open-ended answer is computable.
    """
    parts = {"verifiable": links(), "ranking": rankings(), "open": requests(careless=careless)}
    return replace(
        mixture(parts, weights=WEIGHTS, name="unified_tasks"),
        env=tool_chat,
        curriculum=None,
        start=START,
        start_turns=1,
        gauges={"tau": part_gauge("ranking", reply_tau), "quality": part_gauge("open", answer_quality)},
    )


def mix_parts(*, verifiable: int, ranking: int, open: int) -> Order:
    """Make a curriculum with fixed numbers of each part in a cycle; parts with 0 are left out.

    Args:
        verifiable, ranking, open: tasks of each part in a cycle, >= 0.

    Raises:
        InputError: a negative weight, or all weights are 0.

    Example:
        verifiable 1, ranking 2, open 1: every four tasks have two rankings, in a drawn order

    Idea: a fixed mixture keeps the three rewards in every step.
    """
    weights = {"verifiable": verifiable, "ranking": ranking, "open": open}
    if min(weights.values()) < 0 or not any(weights.values()):
        raise InputError(f"the numbers of tasks are {weights}; give 0 or more, and one above 0")
    kept = {part: weight for part, weight in weights.items() if weight}
    return interleaved(key=PART, weights=kept, around=dict.fromkeys(kept))
