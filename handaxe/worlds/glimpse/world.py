"""Hidden numbers and a tool that shows them, for measuring where and whether a policy looks."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory, Reward
from handaxe.core.records import Group, Message, Task, ToolCall, Trajectory
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.answer_score import answer_score
from handaxe.rewards.box_overlap import box_overlap
from handaxe.rewards.parts.extract import final_text
from handaxe.rewards.used_tools import used_tools
from handaxe.tools.calculator import calculator
from handaxe.worlds.glimpse import tasks as glimpse_tasks
from handaxe.worlds.glimpse.tasks import Kind
from handaxe.worlds.glimpse.views import (
    COLUMNS,
    LENGTH,
    LINES,
    SIDE,
    VIEWS,
    Region,
    gold_region,
    last_region,
    seen_regions,
)
from handaxe.worlds.parts.answering import answer, is_number_answer, submitted_answer
from handaxe.worlds.parts.experts import arithmetic_call
from handaxe.worlds.world import DemonstrationNoise, Expert, Facts, Split, Start, World

__all__ = ["glimpse", "other_view", "region_iou"]

LOOKING = Start(
    DemonstrationNoise(call_rate=0.8, spurious_rate=0.3, corrupt_rate=0.1),
    skill=220,
    steps=20,
    batch_size=16,
    learning_rate=2e-3,
)
STARTS: dict[Kind, Start] = {
    "row": LOOKING,
    "grid": LOOKING,
    "table": Start(DemonstrationNoise(call_rate=0.8, corrupt_rate=0.1), skill=120, steps=40),
}
TOOLS: dict[Kind, str] = {"row": "view", "grid": "zoom", "table": "read_cell"}
POOR = 0.5
"""A first view with less overlap with the answer's region is poor."""
TRIES = 100
"""Draws of an incorrect view; a view of everything has no alternative."""
region_iou: Reward = box_overlap(found=last_region, gold=gold_region)
"""Intersection over union of the last viewed region and the answer's region."""
LOOKED = used_tools(tools=tuple(VIEWS))


def glimpse(*, kind: Kind = "row", needed: float = 0.75, loose: int = 0, terminated: bool = False) -> World:
    """Numbers hidden in a row of symbols, a grid or a table; the question gives their place.

    Each kind has one tool that shows a region of any size. A share of the questions asks for information in the
    question, so that looking is needless.

    Args:
        kind: row (64 symbols, `view`), grid (8 by 8, `zoom`) or table (4 by 4, `read_cell`, and the calculator for
            sums of two cells).
        needed: share of questions that need the tool, 0 to 1.
        loose: for a row or grid, maximum symbols by which each side of the expert's view exceeds the answer's region.
            The widths depend on the question alone, never on the place of the number.
        terminated: the answer is a call of the tool `answer`, which ends the rollout, instead of text.

    Returns:
        A world broken down by "needs_tool". Gauges: iou (overlap of the last view with the answer's region, on
        questions that need the tool), width (symbols of the last view, of rollouts with a view), looked (share of
        rollouts with a successful view), and second_look (share of rollouts with a second view, among those with a poor
        first view).

    Raises:
        InputError: an argument out of range, at once or when tasks are made.

    Example:
        "a0 k18 c41 64: k?": view {"span": "18 41"} shows "......37..............." and the answer is "37";
        "a0 k18 c41 64: k at?" is "18"
    """
    if not 0 <= loose <= LENGTH:
        raise InputError(f"loose is {loose}; give 0 to {LENGTH} symbols")

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        return glimpse_tasks.tasks(kind=kind, count=count, seed=seed, split=split, needed=needed)

    ending = (answer,) if terminated else ()
    return World(
        name="glimpse",
        tasks=tasks,
        env=_env(TOOLS[kind], ending),
        correct=answer_score(
            scorer=lambda task, text: float(text.strip() == task.answer),
            extract=submitted_answer if terminated else final_text,
        ),
        tools=(calculator,) if kind == "table" else (),
        breakdown=("needs_tool",),
        hidden_keys=("hidden",),
        is_answer=is_number_answer,
        expert=_expert(TOOLS[kind], loose, terminated),
        start=STARTS[kind],
        gauges=GAUGES,
    )


def _env(shows: str, ending: tuple[Any, ...]) -> Callable[[Sequence[Any]], EnvFactory]:
    """Environments of a kind: the tool that shows the task's hidden content, and the offered tools."""

    def env(tools: Sequence[Any]) -> EnvFactory:
        # Raises early for bad tools, and bounds the number of open environments.
        probe = tool_chat([lambda: VIEWS[shows](""), *tools, *ending])
        names = [one.schema.name for one in ending]

        def make(task: Task) -> Env:
            def view() -> Any:
                return VIEWS[shows](task.metadata["hidden"])

            return tool_chat([view, *tools, *ending], final=names)(task)

        return inherit_bound(make, probe)

    return env


def _expert(shows: str, loose: int, terminated: bool) -> Expert:
    def expert(task: Task, facts: Facts) -> Message:
        calls = _calls(shows, loose, task, facts)
        if facts["turn"] < len(calls):
            return Message("assistant", "", (calls[facts["turn"]],))
        if terminated:
            return Message("assistant", "", (ToolCall(answer.schema.name, {"text": str(task.answer)}),))
        return Message("assistant", str(task.answer))

    return expert


def _calls(shows: str, loose: int, task: Task, facts: Facts) -> list[ToolCall]:
    """The necessary views of a question, and the sum of the shown numbers."""
    if (task.metadata["needs_tool"] == "no" and facts.get("sure", True)) or shows not in facts["tools"]:
        return []
    if cells := task.metadata["cells"]:
        calls = [ToolCall(shows, {"cell": cell}) for cell in cells]
        if len(cells) == 1:
            return calls
        lines = [line.split() for line in task.metadata["hidden"].split("/")]
        numbers = [lines[LINES.index(cell[1])][COLUMNS.index(cell[0])] for cell in cells]
        return [*calls, *arithmetic_call("+".join(numbers), facts["tools"])]
    region = _loose_region(task, loose)
    return [ToolCall(shows, {"span" if shows == "view" else "box": " ".join(map(str, region))})]


def _loose_region(task: Task, loose: int) -> Region:
    """The answer's region, with each side extended by up to `loose`."""
    rng = random.Random(derive_seed("glimpse off", task.id))
    gold = gold_region(task)
    half = len(gold) // 2
    low = [max(0, side - rng.randint(0, loose)) for side in gold[:half]]
    high = [min(LENGTH if half == 1 else SIDE, side + rng.randint(0, loose)) for side in gold[half:]]
    return (*low, *high)


def other_view(task: Task, call: ToolCall, rng: random.Random) -> ToolCall | None:
    """Create a view of another region of about the same size that does not show the number; for `add_mistakes`.

    Returns None if the call is no view, or if every region shows the number.
    """
    if call.name not in VIEWS:
        return None
    ((name, text),) = call.arguments.items()
    if call.name == "read_cell":
        cells = [column + line for line in LINES for column in COLUMNS]
        return ToolCall(call.name, {name: rng.choice([cell for cell in cells if cell not in task.metadata["cells"]])})
    region = [int(word) for word in str(text).split()]
    number, half = task.metadata["number"], len(region) // 2
    side, sizes = LENGTH if half == 1 else SIDE, [region[k + half] - region[k] for k in range(half)]
    for _ in range(TRIES):
        low = [rng.randint(0, side - size) for size in sizes]
        high = [a + size for a, size in zip(low, sizes, strict=True)]
        if any(high[k] <= number[k] or low[k] >= number[k + half] for k in range(half)):
            return ToolCall(call.name, {name: " ".join(map(str, [*low, *high]))})
    return None


def _overlap(trajectory: Trajectory) -> float:
    return float(region_iou(Group(trajectory.task, (trajectory,))).outcome[0])


def _looked(trajectory: Trajectory) -> float:
    return float(LOOKED(Group(trajectory.task, (trajectory,))).outcome[0])


def _needs(trajectory: Trajectory) -> float:
    return float(trajectory.task.metadata["needs_tool"] == "yes")


def _width(trajectory: Trajectory) -> float:
    region = last_region(trajectory)
    if region is None:
        return 0.0
    size, half = 1, len(region) // 2
    for k in range(half):
        size *= region[k + half] - region[k]
    return float(size)


def _poor_first_view(trajectory: Trajectory) -> bool:
    """Whether the first view has little overlap with the answer's region."""
    seen = seen_regions(trajectory)
    if not seen:
        return False
    first = box_overlap(found=lambda _: seen[0].region, gold=gold_region)
    return float(first(Group(trajectory.task, (trajectory,))).outcome[0]) < POOR


GAUGES = {
    "iou": RatioMetric(lambda one, outcome: _overlap(one) * _needs(one), lambda one, outcome: _needs(one)),
    "width": RatioMetric(lambda one, outcome: _width(one), lambda one, outcome: _looked(one)),
    "looked": RatioMetric(lambda one, outcome: _looked(one)),
    "second_look": RatioMetric(
        lambda one, outcome: float(_poor_first_view(one) and len(seen_regions(one)) > 1),
        lambda one, outcome: float(_poor_first_view(one)),
    ),
}
"""Metrics of every kind."""
