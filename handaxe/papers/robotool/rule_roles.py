"""Rule twins of the four roles: text in, text out."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from handaxe.asking.read import Unreadable
from handaxe.papers.robotool.skill_program import SKILLS
from handaxe.papers.robotool.tool_tasks import BenchScene, read_scene
from handaxe.papers.robotool.workbench import FORCE, REACH, STEP, WEIGHT, BenchThing

__all__ = ["analyze", "calculate", "meets", "plan_steps", "write_code"]

HELD_AT = 40.0
"""Place that a pulled thing is brought to."""
UNKNOWN = "?"
SLOTS: Mapping[str, int] = {"milk": 1, "gap": 1, "can": 2, "sofa": 2, "button": 2, "crate": 2}
"""Tools of a plan without key concepts."""
LIMIT = re.compile(r"(length|height|mass|strength|at)(>=|<=)(\d+(?:\.\d*)?)")
SHARE = 0.8
"""Share of the longest arm of a load at which the lever still lifts."""


def analyze(task: str, concepts: str = "", plan: str = "") -> str:
    """List the key concepts of a task: one line a tool, in the order of use, with the features that decide.

    Example:
        milk at 95 -> "need hook rigid length>=35"

    Paper: arXiv:2310.13065 (RoboTool), the Analyzer.
    Differs: a rule that knows the six kinds of tasks.
    """
    del concepts, plan
    scene = read_scene(task)
    return "\n".join(f"need {line}" for line in NEEDS[scene.target](scene))


def plan_steps(task: str, concepts: str = "", plan: str = "") -> str:
    """Write the steps of a plan, one a line, with "?" for each number.

    A tool is the first thing that has the features of its line; without key concepts, the first things in the text's
    order.

    Raises:
        Unreadable: key concepts without a line "need ...", or such a line with another word than features.

    Example:
        "need hook rigid length>=35" -> "grasp hammer", "pull milk ?", "release", "grasp milk"

    Paper: arXiv:2310.13065 (RoboTool), the Planner.
    Differs: a rule with one skeleton for each kind of task.
    """
    del plan
    scene = read_scene(task)
    needs = [line.removeprefix("need ") for line in concepts.splitlines() if line.startswith("need ")]
    if concepts.strip() and not needs:
        raise Unreadable("no line of the key concepts begins with need")
    chosen: list[str] = []
    for line in needs or [""] * SLOTS[scene.target]:
        fits = [one.name for one in scene.tools if one.name not in chosen and meets(one, line)]
        chosen += fits[:1]
    return "\n".join(_steps(scene.target, chosen))


def calculate(task: str, concepts: str = "", plan: str = "") -> str:
    """Replace each "?" of a plan by a number.

    Raises:
        Unreadable: a line that is no step, or a thing that the task lacks.

    Example:
        "pull milk ?" with milk at 95 -> "pull milk 55"

    Paper: arXiv:2310.13065 (RoboTool), the Calculator.
    Differs: a rule that knows the skills.
    """
    del concepts
    scene, steps = read_scene(task), _read_steps(plan)
    grasped = [(k, _thing(scene, words[0])) for k, (verb, *words) in enumerate(steps) if verb == "grasp"]
    lines = []
    for k, (verb, *words) in enumerate(steps):
        before = [thing for place, thing in grasped if place < k]
        number = _number(scene, verb, words, before, [thing for _, thing in grasped]) if UNKNOWN in words else 0.0
        lines.append(" ".join([verb, *(f"{number:g}" if one == UNKNOWN else one for one in words)]))
    return "\n".join(lines)


def write_code(task: str, concepts: str = "", plan: str = "") -> str:
    """Write the Python of a plan; a number that is still "?" becomes the place of the thing that the step is about.

    Without a plan the code makes the last step alone, on the target.

    Raises:
        Unreadable: a line that is no step.

    Example:
        "grasp hammer", "pull milk 55" -> "grasp('hammer')", "pull('milk', 55)"

    Paper: arXiv:2310.13065 (RoboTool), the Coder.
    Differs: a rule.
    """
    del concepts
    scene = read_scene(task)
    steps = _read_steps(plan or "\n".join(LAST.get(scene.target, [f"grasp {scene.target}"])))
    return "\n".join(_code(scene, verb, words) for verb, *words in steps) + "\n"


def meets(thing: BenchThing, line: str) -> bool:
    """Return True if a thing has the features of a line: properties, and limits such as length>=35.

    Raises:
        Unreadable: another word.

    Example:
        "hook length>=35" is met by a hook of 40 cm
    """
    for word in line.split():
        limit = LIMIT.fullmatch(word)
        if limit is not None:
            value, bound = float(getattr(thing, limit[1])), float(limit[3])
            if not (value >= bound if limit[2] == ">=" else value <= bound):
                return False
        elif word in ("rigid", "hook", "magnetic"):
            if not getattr(thing, word):
                return False
        else:
            raise Unreadable(f"{word[:40]!r} is no feature of a thing")
    return True


LAST: Mapping[str, Sequence[str]] = {
    "gap": ["cross"],
    "sofa": ["climb"],
    "button": ["press ?"],
    "crate": ["push"],
}


def _milk(scene: BenchScene) -> list[str]:
    return [f"hook rigid length>={scene.things[scene.target].at - REACH:g}"]


def _can(scene: BenchScene) -> list[str]:
    long = f"hook rigid length>={scene.things['can'].at - REACH:g}"
    middle = next((one for one in scene.tools if meets(one, long)), None)
    if middle is None or middle.at <= REACH:
        return [long]
    return [f"hook rigid length>={middle.at - REACH:g} at<={REACH:g}", long]


def _gap(scene: BenchScene) -> list[str]:
    return [f"rigid length>={scene.things['gap'].length + 10:g} strength>={WEIGHT:g}"]


def _sofa(scene: BenchScene) -> list[str]:
    high = scene.things["sofa"].height
    low = high - STEP
    base = f"rigid strength>={WEIGHT:g}"
    return [f"{base} height>={low:g} height<={2 * STEP:g}", f"{base} height>={low - STEP:g} height<={STEP:g}"]


def _button(scene: BenchScene) -> list[str]:
    part = next((one.length for one in scene.tools if one.magnetic), 1.0)
    return ["magnetic rigid"] * math.ceil((scene.things["button"].at - REACH) / part)


def _crate(scene: BenchScene) -> list[str]:
    load = scene.things["crate"].mass
    return [f"rigid length<=20 strength>={load:g}", f"rigid length>=40 strength>={load:g}"]


NEEDS: Mapping[str, Callable[[BenchScene], list[str]]] = {
    "milk": _milk,
    "gap": _gap,
    "can": _can,
    "sofa": _sofa,
    "button": _button,
    "crate": _crate,
}


def _steps(target: str, tools: Sequence[str]) -> list[str]:
    if target in ("milk", "can"):
        steps = list[str]()
        for tool, following in pairwise((*tools, target)):
            steps += [f"grasp {tool}", f"pull {following} ?", "release"]
        return [*steps, f"grasp {target}"]
    if target == "button":
        return [f"grasp {tools[0]}", *(f"attach {part}" for part in tools[1:]), "press ?"] if tools else ["press ?"]
    placed = [step for tool in tools for step in (f"grasp {tool}", "place ?")]
    return [*placed, *LAST[target]]


def _read_steps(plan: str) -> list[list[str]]:
    """Words of each line of a plan: a skill and its arguments."""
    steps = [line.split() for line in plan.splitlines() if line.strip()]
    for verb, *words in steps:
        if verb not in SKILLS or len(words) != len(SKILLS[verb]):
            raise Unreadable(f"{' '.join([verb, *words])[:60]!r} is no step of a plan")
    return steps


def _thing(scene: BenchScene, name: str) -> BenchThing:
    if name not in scene.things:
        raise Unreadable(f"there is no {name[:40]!r}")
    return scene.things[name]


def _number(
    scene: BenchScene, verb: str, words: Sequence[str], before: Sequence[BenchThing], grasped: Sequence[BenchThing]
) -> float:
    """Number of a step; `before` has the things that were grasped before it, `grasped` all of the plan."""
    if verb == "pull":
        return _thing(scene, words[0]).at - HELD_AT
    aim = scene.things[scene.target]
    if verb == "press" or not before:
        return aim.at
    if scene.target == "gap":
        return aim.at - (before[-1].length - aim.length) / 2
    if scene.target == "sofa":
        return aim.at - sum(one.length for one in before)
    lever = grasped[-1]
    if len(before) < len(grasped):
        return aim.at - SHARE * lever.length * FORCE / (FORCE + aim.mass)
    return aim.at - lever.length


def _code(scene: BenchScene, verb: str, words: Sequence[str]) -> str:
    about = words[0] if len(words) > 1 else scene.target
    values = [f"get_position({about!r})" if one == UNKNOWN else _literal(one) for one in words]
    return f"{verb}({', '.join(values)})"


def _literal(word: str) -> str:
    try:
        return f"{float(word):g}"
    except ValueError:
        return repr(word)
