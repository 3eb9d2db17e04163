"""Charts of real tables, shown as images, to draw again with matplotlib."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from handaxe.core.errors import InfrastructureError, Retry
from handaxe.core.images import Image
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory, Reward
from handaxe.core.records import Group, Message, Task, ToolCall, Trajectory
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.papers.chartmaster.code_drawing import Chart, Drawer
from handaxe.papers.chartmaster.image_similarity import image_similarity
from handaxe.rewards.outcome import outcome
from handaxe.rewards.set_overlap import set_overlap
from handaxe.tools.decorator import tool
from handaxe.worlds.charts.tables import LOW, draw_values
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["Canvas", "attribute_overlap", "chart_code", "drawn_code", "picture_similarity"]

COLOURS = ("red", "blue", "green", "black")
LETTERS = "abc"
LEVELS = 5
"""Heights of a chart: a value of 10 to 99 is drawn as 1 to 5. Some 900 charts can be drawn for training."""
QUESTION = "code?"
FINAL = ("draw",)
START = Start(DemonstrationNoise(corrupt_rate=0.2), skill=150, steps=30, batch_size=16, learning_rate=2e-3)
DRAWER = Drawer()
"""Shared by all worlds of the process: a chart depends on its code alone."""


class Canvas:
    """Tool `draw` of a rollout, with the code of the drawn chart."""

    def __init__(self, expert_code: str):
        self._own = expert_code
        self._code: str | None = None

    @tool(timeout=None)
    def draw(self, code: Annotated[str, "matplotlib code; there is a figure `fig` with axes `ax`"]) -> Image:
        """Draw a chart, which ends the attempt; code that fails may be tried again."""
        made = DRAWER.draw_trusted(code) if code == self._own else DRAWER.draw(code)
        if isinstance(made, str):
            raise Retry(made)
        self._code = code
        return Image.of(made.pixels)

    def report(self) -> Mapping[str, Any]:
        """`code` of the chart, or None."""
        return {"code": self._code}

    def snapshot(self) -> Any:
        """The code of the chart."""
        return self._code

    def restore(self, state: Any) -> None:
        """Restore a snapshot."""
        self._code = state


def chart_code() -> World:
    """Bar and line charts of two or three numbers of real tables, shown as an image; the tool `draw` runs code.

    The first successful chart completes the rollout and comes back as an image; after an error the policy may try
    again. A policy's code runs in a sandbox (see `papers.chartmaster.code_drawing`), each code in a separate session;
    results are cached by code. A chart is correct with the texts, numbers in order, colours, bars and lines of the
    reference.

    Returns:
        A world broken down by "kind" (bar or line), with the gauge attributes (Jaccard overlap of the chart's content).
        A task's answer is code. No chart and no column of a table is in both splits.

    Raises:
        InputError: when a chart is drawn: matplotlib or vega_datasets is not installed (extra [charts]), or bubblewrap
            is missing.

    Example:
        "code?" and a chart of three red bars: ax.bar([*'abc'],[3,5,2],color='red')
    """

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_task(number, seed, split) for number in range(count)]

    return World(
        name="chart_code",
        tasks=tasks,
        env=_env,
        correct=outcome(_same),
        breakdown=("kind",),
        expert=_expert,
        start=START,
        start_model="tiny_vision",
        gauges={"attributes": RatioMetric(_overlap)},
    )


def drawn_code(trajectory: Trajectory) -> str | None:
    """Return the code of a rollout's chart, or None."""
    code: str | None = trajectory.env.get("state", {}).get(Canvas.__name__, {}).get("code")
    return code


def attribute_overlap() -> Reward:
    """Create the Jaccard overlap of texts, numbers, colours and layout with the requested chart; 0 without a chart.

    Paper: arXiv:2508.17608 (ChartMaster), attribute similarity.
    Unconfirmed: one set of all attributes, and not the mean over sets of each kind.
    Differs: nothing known.
    """
    return set_overlap(
        found=lambda one: _attributes(_drawn(one)), gold=lambda task: _attributes(_wanted(task)), measure="jaccard"
    )


def picture_similarity() -> Reward:
    """Create the similarity of pictures; see `papers.chartmaster.image_similarity`."""
    return image_similarity(rendered=lambda one: _ink(_drawn(one)), gold=lambda task: _wanted(task).ink)


def _env(tools: Sequence[Any]) -> EnvFactory:
    # Raises early for bad tools, and bounds the number of open environments.
    probe = tool_chat([lambda: Canvas(""), *tools], final=FINAL)

    def factory(task: Task) -> Env:
        return tool_chat([lambda: Canvas(str(task.answer)), *tools], final=FINAL)(task)

    return inherit_bound(factory, probe)


def _drawn(trajectory: Trajectory) -> Chart | None:
    code = drawn_code(trajectory)
    if code is None:
        return None
    made = DRAWER.draw_trusted(code) if code == trajectory.task.answer else DRAWER.draw(code)
    if isinstance(made, str):  # the chart was drawn before: no reason for a reward of 0
        raise InfrastructureError(f"the chart of {trajectory.id!r} was not drawn again: {made}")
    return made


def _wanted(task: Task) -> Chart:
    return DRAWER.draw_trusted(str(task.answer))


def _attributes(chart: Chart | None) -> frozenset[tuple[str, str | float]]:
    return frozenset() if chart is None else chart.attributes


def _ink(chart: Chart | None) -> np.ndarray | None:
    return None if chart is None else chart.ink


def _same(trajectory: Trajectory) -> float:
    drawn = _drawn(trajectory)
    return float(drawn is not None and drawn[:-1] == _wanted(trajectory.task)[:-1])


def _overlap(trajectory: Trajectory, outcome: float) -> float:
    del outcome
    return float(attribute_overlap()(Group(trajectory.task, (trajectory,))).outcome[0])


def _expert(task: Task, facts: Facts) -> Message:
    del facts
    return Message("assistant", "", (ToolCall(FINAL[0], {"code": task.answer}),))


def _task(number: int, seed: int, split: Split) -> Task:
    rng = random.Random(derive_seed("chart code", seed, split, number))
    while True:
        kind, colour = rng.choice(("bar", "line")), rng.choice(COLOURS)
        column, drawn = draw_values(rng, split, rng.randint(2, len(LETTERS)))
        values = [1 + LEVELS * (value - LOW) // (100 - LOW) for value in drawn]
        if content_split("charts split", kind, colour, *values) == split:
            break
    what = f"bar([*'{LETTERS[: len(values)]}']," if kind == "bar" else "plot("
    code = f"ax.{what}{str(values).replace(' ', '')},color='{colour}')"
    asked = Message.of("user", QUESTION, Image.of(DRAWER.draw_trusted(code).pixels))
    return Task(f"charts-{split}-{seed}-{number}", (asked,), code, metadata={"kind": kind, "column": column})
