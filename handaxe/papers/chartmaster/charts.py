"""Small charts, described in words, to be drawn with matplotlib."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from handaxe.core.errors import InfrastructureError, Retry
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory, Reward
from handaxe.core.records import Group, Message, Task, ToolCall, Trajectory
from handaxe.envs.bounded_as import bounded_as
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.papers.chartmaster.charts_drawing import Chart, Drawer
from handaxe.papers.chartmaster.image_similarity import image_similarity
from handaxe.rewards.outcome import outcome
from handaxe.rewards.set_overlap import set_overlap
from handaxe.tools.decorator import tool
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["Canvas", "charts", "drawn_code", "same_attributes", "same_picture"]

COLOURS = ("red", "blue", "green", "black")
TITLES = ("tea", "rice", "wool", "salt", "corn", "iron")
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
LETTERS = "abcdef"
FINAL = ("draw",)
START = Start(DemonstrationNoise(clumsy=0.2), skill=150, steps=30, batch_size=16, learning_rate=2e-3)
DRAWER = Drawer()
"""Shared by all worlds of this process: what a code draws depends on the code alone."""


class Canvas:
    """One attempt's tool `draw`, which remembers the code of the chart that could be drawn."""

    def __init__(self, own: str):
        self._own = own
        self._code: str | None = None

    @tool(timeout=None)
    def draw(self, code: Annotated[str, "matplotlib code; there is a figure `fig` with axes `ax`"]) -> str:
        """Draw a chart, which ends the attempt; code that fails may be tried again."""
        # What the world itself would write can be drawn, and is drawn when the picture is asked for.
        made = None if code == self._own else DRAWER.draw(code)
        if isinstance(made, str):
            raise Retry(made)
        self._code = code
        return "drawn"

    def report(self) -> Mapping[str, Any]:
        """`code`: of the chart, None where there is none."""
        return {"code": self._code}

    def snapshot(self) -> Any:
        """The code of the chart."""
        return self._code

    def restore(self, state: Any) -> None:
        """Go back to a snapshot."""
        self._code = state


def charts(*, brief: bool = True) -> World:
    """Charts of bars or of a line with three to six numbers, told in words; the tool `draw` carries code out.

    The first chart that can be drawn completes the attempt; after an error the policy may try again.
    The code of a policy runs in a sandbox (see `papers.chartmaster.charts_drawing`), each in a session of its own; the
    same code is not drawn again. Right is a chart with the wanted texts,
    numbers in their order, colours, bars and lines.

    Args:
        brief: questions are key words, for the tiny policy; else sentences.

    Returns:
        A world broken down by "kind" (bar or line), with the gauge attributes (overlap of what is in the chart, by
        Jaccard). A task's answer is code.

    Raises:
        InputError: when something is drawn: matplotlib is not installed (extra [plots]), or bubblewrap is missing.

    Example:
        "red bar tea a three b five c two" is drawn by ax.bar([*'abc'],[3,5,2],color='red');ax.set_title('tea')
    """

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_task(number, seed, split, brief) for number in range(count)]

    return World(
        name="charts",
        tasks=tasks,
        env=_env,
        correct=outcome(_same),
        by=("kind",),
        expert=_expert,
        start=START if brief else None,
        gauges={"attributes": RatioMetric(_overlap)},
    )


def drawn_code(attempt: Trajectory) -> str | None:
    """The code of the chart that an attempt drew, None where it drew none."""
    code: str | None = attempt.env.get("state", {}).get(Canvas.__name__, {}).get("code")
    return code


def same_attributes() -> Reward:
    """Give the Jaccard overlap of texts, numbers, colours and layout with those of the wanted chart; 0 without one.

    Paper: arXiv:2508.17608 (ChartMaster), attribute similarity.
    Unconfirmed: one set of all attributes, and not the mean over sets of each kind.
    Differs: nothing known.
    """
    return set_overlap(
        found=lambda one: _attributes(_drawn(one)), gold=lambda task: _attributes(_wanted(task)), measure="jaccard"
    )


def same_picture() -> Reward:
    """Give how alike the pictures are; see `papers.chartmaster.image_similarity`."""
    return image_similarity(rendered=lambda one: _ink(_drawn(one)), gold=lambda task: _wanted(task).ink)


def _env(tools: Sequence[Any]) -> EnvFactory:
    # Says at once which tools do not fit, and how many there may be.
    probe = tool_chat([lambda: Canvas(""), *tools], final=FINAL)

    def factory(task: Task) -> Env:
        return tool_chat([lambda: Canvas(str(task.answer)), *tools], final=FINAL)(task)

    return bounded_as(factory, probe)


def _drawn(attempt: Trajectory) -> Chart | None:
    code = drawn_code(attempt)
    if code is None:
        return None
    made = DRAWER.draw_own(code) if code == attempt.task.answer else DRAWER.draw(code)
    if isinstance(made, str):  # it was drawn once, so that an attempt is not to be worth 0 for it
        raise InfrastructureError(f"the chart of {attempt.id!r} was not drawn again: {made}")
    return made


def _wanted(task: Task) -> Chart:
    return DRAWER.draw_own(str(task.answer))


def _attributes(chart: Chart | None) -> frozenset[tuple[str, str | float]]:
    return frozenset() if chart is None else chart.attributes


def _ink(chart: Chart | None) -> np.ndarray | None:
    return None if chart is None else chart.ink


def _same(attempt: Trajectory) -> float:
    drawn = _drawn(attempt)
    return float(drawn is not None and drawn[:-1] == _wanted(attempt.task)[:-1])


def _overlap(attempt: Trajectory, outcome: float) -> float:
    del outcome
    return float(same_attributes()(Group(attempt.task, (attempt,))).outcome[0])


def _expert(task: Task, facts: Facts) -> Message:
    del facts
    return Message("assistant", "", (ToolCall(FINAL[0], {"code": task.answer}),))


def _task(number: int, seed: int, split: Split, brief: bool) -> Task:
    rng = random.Random(derive_seed("charts", seed, split, number))
    while True:
        kind, colour = rng.choice(("bar", "line")), rng.choice(COLOURS)
        title = rng.choice(TITLES)
        values = [rng.randrange(len(NUMBERS)) + 1 for _ in range(rng.randint(3, 6))]
        if (derive_seed("charts split", kind, colour, title, *values) % 4 == 0) == (split == "test"):
            break
    words, letters = [NUMBERS[value - 1] for value in values], LETTERS[: len(values)]
    listed = " ".join(f"{a} {b}" for a, b in zip(letters, words)) if kind == "bar" else " ".join(words)
    said = f"{colour} {kind} {title} {listed}" if brief else _sentence(kind, colour, title, letters, words)
    what = f"bar([*'{letters}']," if kind == "bar" else "plot("
    code = f"ax.{what}{str(values).replace(' ', '')},color='{colour}');ax.set_title('{title}')"
    return Task(f"charts-{split}-{seed}-{number}", (Message("user", said),), code, metadata={"kind": kind})


def _sentence(kind: str, colour: str, title: str, letters: str, words: Sequence[str]) -> str:
    what = ", ".join(f"{a} {b}" for a, b in zip(letters, words)) if kind == "bar" else ", ".join(words)
    form = "bars" if kind == "bar" else "line"
    return f"Draw a chart with the title {title} and a {colour} {form}: {what}."
