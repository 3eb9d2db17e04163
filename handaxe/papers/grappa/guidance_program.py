"""Guidance functions: Python of the advisor, executed in the sandbox on states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.tools.draft_runner import run_draft

__all__ = ["EXAMPLE_STATE", "GuidanceScores", "score_states", "write_plan"]

NAME = "guidance"
LIMIT = 1e6
EXAMPLE_STATE: Mapping[str, Any] = {
    "agent": [1, 1],
    "facing": 0,
    "free": 2,
    "holds": "",
    "objects": {"door": {"at": [3, 1], "state": "locked"}, "key": {"at": [1, 2], "state": ""}},
}
"""State that a new program is tried on, and that a model reads as example."""
PLAN = """def guidance(state):
    plan = {plan}
    ahead = [[1, 0], [0, 1], [-1, 0], [0, -1]][state["facing"]]
    score = 0.0
    for name in plan:
        thing = state["objects"].get(name)
        if name == "key" and state["holds"] == "key":
            score += 30.0
            continue
        if thing is None:
            return score
        if name == "door" and thing["state"] == "open":
            score += 30.0
            continue
        across = thing["at"][0] - state["agent"][0]
        along = thing["at"][1] - state["agent"][1]
        faces = across * ahead[0] + along * ahead[1] > 0
        return score - 2.0 * (abs(across) + abs(along)) + (1.0 if faces else 0.0)
    return score
"""


class GuidanceScores(NamedTuple):
    """Scores of states, or the error of the program; "" for none."""

    scores: tuple[float, ...] = ()
    error: str = ""


def write_plan(plan: Sequence[str]) -> str:
    """Write the guidance function of a plan: objects to reach, in order.

    The score is 30 for each finished object (a held key, an open door), less twice the distance in cells to the first
    other one, plus 1 if the agent faces it. An object without a known place gives no direction.

    Args:
        plan: of key, door and goal.

    Raises:
        InputError: an empty plan, or another name.

    Example:
        plan goal, agent (1, 1) facing right, goal (3, 2): -2 (2 + 1) + 1 = -5

    Paper: arXiv:2410.06473 (GRAPPA), guidance functions as Python code.
    Unconfirmed: the form of a guidance function.
    """
    if not plan or any(name not in ("key", "door", "goal") for name in plan):
        raise InputError(f"a plan has names of key, door and goal, not {list(plan)}")
    return PLAN.format(plan=list(plan))


def score_states(program: str, states: Sequence[Mapping[str, Any]], *, seconds: float = 30.0) -> GuidanceScores:
    """Score states by a program in the sandbox.

    Args:
        program: untrusted Python with guidance(state) -> number.
        states: of `ObjectTracker.state`.
        seconds: limit of the run.

    Returns:
        A finite score for each state, or the first error.

    Raises:
        InfrastructureError: the sandbox ended.

    Example:
        "def guidance(state): return state['free']" on a state with two free cells -> 2

    Paper: arXiv:2410.06473 (GRAPPA), grounded guidance as scores of states.
    """
    results = run_draft(program, NAME, [{"state": dict(one)} for one in states], seconds=seconds)
    for one in results:
        if one.error:
            return GuidanceScores(error=one.error)
        if isinstance(one.value, bool) or not isinstance(one.value, int | float):
            return GuidanceScores(error=f"guidance returns {str(one.value)[:40]}, no number")
        if not abs(one.value) <= LIMIT:
            return GuidanceScores(error=f"guidance returns {str(one.value)[:40]}; give -1e6 to 1e6")
    return GuidanceScores(tuple(float(one.value) for one in results))
