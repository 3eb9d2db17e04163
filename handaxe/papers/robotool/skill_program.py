"""Programs of skills: executed in the sandbox to a list of calls, and then on the bench."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from handaxe.papers.robotool.tool_tasks import ToolTask
from handaxe.papers.robotool.workbench import SkillError, Workbench
from handaxe.tools.draft_runner import run_draft

__all__ = ["SKILLS", "SkillOutcome", "program_calls", "run_skills"]

SKILLS = {
    "grasp": (str,),
    "release": (),
    "pull": (str, float),
    "attach": (str,),
    "place": (float,),
    "press": (float,),
    "cross": (),
    "climb": (),
    "push": (),
}
"""Skill -> types of its arguments."""
MOST = 40
"""Calls of a program."""
LIMIT = 1e6
"""Largest absolute value of a number."""
PRELUDE = """_CALLS = []
_PLACES = {places}

def get_position(name):
    return _PLACES[name]

{skills}
"""
SKILL = "def {name}(*arguments):\n    _CALLS.append([{name!r}, list(arguments)])\n"
TAKE = "\n\ndef _take_calls():\n    return _CALLS\n"
GOALS = {"gap": "cross", "sofa": "climb", "button": "press", "crate": "push"}


class SkillOutcome(NamedTuple):
    """Result of a program: error "" for success, else code, tool, logical or numerical; and one sentence."""

    error: str = ""
    text: str = ""


def program_calls(code: str, task: ToolTask) -> tuple[list[tuple[str, list[Any]]], str]:
    """Execute untrusted code in the sandbox, where skills record their calls.

    Args:
        code: Python; calls skills and get_position(name) -> cm.
        task: whose places the code may read.

    Returns:
        (calls, ""), or ([], error) for code that fails, calls of another form, numbers beyond 1e6, and more than 40
        calls.

    Raises:
        InfrastructureError: the sandbox ended.

    Example:
        "grasp('hammer')\\npull('milk', get_position('milk') - 40)" with milk at 95
        -> [("grasp", ["hammer"]), ("pull", ["milk", 55])]

    Paper: arXiv:2310.13065 (RoboTool), the Coder's Python with robot skills.
    """
    places = {one.name: one.at for one in task.things}
    skills = "\n".join(SKILL.format(name=name) for name in SKILLS)
    source = PRELUDE.format(places=places, skills=skills) + code + TAKE
    (found,) = run_draft(source, "_take_calls", [{}])
    if found.error:
        return [], found.error
    if not isinstance(found.value, list) or len(found.value) > MOST:
        return [], f"a program makes at most {MOST} calls"
    if wrong := next((one for one in found.value if not _is_call(one)), None):
        return [], f"{str(wrong)[:60]} is no call of a skill"
    return [(name, list(arguments)) for name, arguments in found.value], ""


def run_skills(calls: Sequence[tuple[str, Sequence[Any]]], task: ToolTask) -> SkillOutcome:
    """Execute calls on a new bench until one fails.

    Returns:
        The first failure, or the goal's; a program that ends before the goal has a logical error.

    Example:
        [("grasp", ["milk"])] with milk at 95 -> logical, "milk is out of reach"

    Paper: arXiv:2310.13065 (RoboTool), errors of tool use, logic and numbers.
    """
    bench = Workbench(task.things)
    try:
        for name, arguments in calls:
            getattr(bench, name)(*arguments)
    except SkillError as error:
        return SkillOutcome(error.kind, str(error))
    reached = GOALS[task.target] in bench.done if task.target in GOALS else bench.held == task.target
    return SkillOutcome() if reached else SkillOutcome("logical", "the program ends before the goal")


def _is_call(one: Any) -> bool:
    if not (isinstance(one, list) and len(one) == 2 and isinstance(one[0], str) and isinstance(one[1], list)):
        return False
    if one[0] not in SKILLS:
        return False
    kinds = SKILLS[one[0]]
    return len(one[1]) == len(kinds) and all(_fits(value, kind) for value, kind in zip(one[1], kinds, strict=True))


def _fits(value: Any, kind: type) -> bool:
    if kind is str:
        return isinstance(value, str)
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LIMIT
