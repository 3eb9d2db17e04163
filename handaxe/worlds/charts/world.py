"""Bar charts of real tables: the overview shows heights, and a zoom the value of a bar."""

from __future__ import annotations

import random
from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, ToolCall, Trajectory, Turn
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.answer_score import answer_score
from handaxe.rewards.parts.extract import NUMBER, final_text
from handaxe.tools.calculator import calculator
from handaxe.worlds.charts.drawing import chart_canvas
from handaxe.worlds.charts.printed import printed_canvas
from handaxe.worlds.charts.tasks import Kind, bars_of, chart_task
from handaxe.worlds.parts.answering import answer, is_text_answer, submitted_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.experts import arithmetic_call
from handaxe.worlds.parts.mistakes import add_mistakes
from handaxe.worlds.plates.zoom import ZOOM, last_zoom, parse_box, zoom_env
from handaxe.worlds.world import DemonstrationNoise, Expert, Facts, Split, Start, World

__all__ = ["charts", "stated_box"]

KINDS: tuple[Kind, ...] = ("value", "value", "sum", "count")
START = Start(
    DemonstrationNoise(call_rate=0.7, spurious_rate=0.9, corrupt_rate=0.1),
    skill=160,
    steps=20,
    batch_size=16,
    learning_rate=2e-3,
)
CLOSE = 0.5
"""Least intersection over union of a correct box."""


def charts(
    *,
    kinds: tuple[Kind, ...] = KINDS,
    zoom: bool = True,
    tolerance: float = 0.0,
    mistakes: bool = False,
    terminated: bool = False,
    brief: bool = True,
) -> World:
    """Bar charts of real tables, with values in handwriting or print; see `worlds.charts.tasks` for the questions.

    The overview of 32 by 32 pixels shows the bars without values. The tool `zoom` shows a part of the original of 256
    by 256 pixels, and the calculator adds. Some kinds of questions are about the overview alone, so that
    a zoom is needless.

    Args:
        kinds: kinds of questions, each with equal probability; a repeated kind is more frequent.
        zoom: offer the tool; False for the control without, whose expert states values that nobody can see.
        tolerance: largest relative deviation of a correct number, such as 0.05.
        mistakes: in half of the tasks the expert's first zoom lacks a side, fails, and is corrected in the next turn.
        terminated: the answer is a call of the tool `answer`, which ends the rollout, instead of text.
        brief: questions are key words and values are handwritten, for the tiny policy; otherwise questions are
            sentences, and a chart is one of matplotlib of 1024 by 1024 pixels, with an overview of 128 by 128. The last
            number of a longer answer counts.

    Returns:
        A world broken down by "needs_tool" and "kind". No handwriting, no column of a table and no overview is in both
        splits. Gauges: looked (share of rollouts with a successful zoom), iou (overlap of the last zoom with the last
        label of the answer, on questions that need the tool), calls_on_needed (share of the calls on questions that
        need the tool) and, with `mistakes`, first_call_failed.

    Raises:
        InputError: an argument out of range; vega_datasets, scikit-learn or Pillow is missing (extras [charts] and
            [plates]).

    Example:
        "red+a?" and an overview: zoom {"box": "4 6 6 8"} shows 63, zoom {"box": "0 6 2 8"} shows 21, the calculator
        returns 84 for 63+21, and the answer is "84"

    Idea: the chart questions of OpenThinkIMG (arXiv:2505.08617), whose values a policy reads with tools.
    """
    if not kinds or not 0 <= tolerance < 1:
        raise InputError(f"charts takes one kind or more and a tolerance of 0 to 1, not {kinds} and {tolerance}")

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [chart_task(split, seed, number, kinds, brief=brief) for number in range(count)]

    expert = _expert(terminated)
    return World(
        name="charts",
        tasks=tasks,
        env=zoom_env(_original, zoom=zoom, ending=(answer,) if terminated else ()),
        correct=answer_score(
            scorer=lambda task, text: _score(task, text, tolerance),
            extract=submitted_answer if terminated else final_text,
        ),
        tools=(calculator,) if "sum" in kinds else (),
        breakdown=("needs_tool", "kind"),
        hidden_keys=("bars",),
        is_answer=is_text_answer,
        expert=add_mistakes(expert, wrong=_missing_side) if mistakes else expert,
        start=START if brief else None,
        start_model="tiny_vision",
        gauges={**GAUGES, **(MISTAKE_GAUGES if mistakes else {})},
    )


def stated_box(trajectory: Trajectory) -> tuple[int, ...] | None:
    """Return the box that the final text states, in units, or None."""
    return parse_box(final_text(trajectory))


def _score(task: Task, text: str, tolerance: float) -> float:
    """1 for a correct answer: equal text, a number within the tolerance, or a box of overlap 1/2."""
    stated, kind = text.strip(), task.metadata["kind"]
    if kind == "box":
        return float(_overlap(parse_box(stated), task.metadata["gold"]) >= CLOSE)
    if not task.metadata["brief"] and task.answer.isdigit():
        stated = next(reversed(NUMBER.findall(stated)), "")
    if tolerance and task.metadata["needs_tool"] == "yes" and stated.isascii() and stated.isdigit() and len(stated) < 9:
        return float(abs(int(stated) - int(task.answer)) <= tolerance * int(task.answer))
    return float(stated == task.answer)


def _overlap(box: Sequence[int] | None, gold: Sequence[int]) -> float:
    """Intersection over union; 0 without a box."""
    if box is None:
        return 0.0
    sides = [min(box[k + 2], gold[k + 2]) - max(box[k], gold[k]) for k in range(2)]
    common = max(0, sides[0]) * max(0, sides[1])
    areas = [(one[2] - one[0]) * (one[3] - one[1]) for one in (box, gold)]
    return common / (sum(areas) - common)


def _original(task: Task) -> Image:
    return chart_canvas(bars_of(task)) if task.metadata["brief"] else printed_canvas(bars_of(task))


def _expert(terminated: bool) -> Expert:
    def expert(task: Task, facts: Facts) -> Message:
        calls = _calls(task, facts)
        if facts["turn"] < len(calls):
            return Message("assistant", "", (calls[facts["turn"]],))
        if terminated:
            return Message("assistant", "", (ToolCall(answer.schema.name, {"text": str(task.answer)}),))
        return Message("assistant", str(task.answer))

    return expert


def _calls(task: Task, facts: Facts) -> list[ToolCall]:
    """Zooms to the labels that a question needs (of an unsure expert, to the asked bars), and the sum."""
    if ZOOM not in facts["tools"] or (task.metadata["needs_tool"] == "no" and facts.get("sure", True)):
        return []
    bars = [bars_of(task)[place] for place in task.metadata["asked"]]
    calls = [ToolCall(ZOOM, {"box": " ".join(map(str, bar.box))}) for bar in bars]
    if task.metadata["kind"] == "sum":
        calls += arithmetic_call("+".join(bar.number for bar in bars), facts["tools"])
    return calls


def _missing_side(task: Task, call: ToolCall, rng: random.Random) -> ToolCall | None:
    """The zoom without the last side of its box, in half of the tasks."""
    del rng
    if call.name != ZOOM or derive_seed("slip", task.id) % 2 == 0:
        return None
    return ToolCall(ZOOM, {"box": str(call.arguments["box"]).rsplit(" ", 1)[0]})


def _needs(trajectory: Trajectory) -> float:
    return float(trajectory.task.metadata["needs_tool"] == "yes")


def _last_overlap(trajectory: Trajectory) -> float:
    return _overlap(last_zoom(trajectory), trajectory.task.metadata["gold"])


def _first_call(trajectory: Trajectory) -> Turn | None:
    """The first turn with a well-formed or malformed call."""
    return next((turn for turn in trajectory.turns if turn.parsed.calls or turn.parsed.errors), None)


def _first_call_failed(trajectory: Trajectory) -> bool:
    turn = _first_call(trajectory)
    return turn is not None and bool(turn.parsed.errors or any(reply.status != "ok" for reply in turn.replies))


GAUGES = {
    "looked": RatioMetric(lambda one, outcome: float(last_zoom(one) is not None)),
    "iou": RatioMetric(lambda one, outcome: _last_overlap(one) * _needs(one), lambda one, outcome: _needs(one)),
    "calls_on_needed": RatioMetric(
        lambda one, outcome: len(one.calls) * _needs(one), lambda one, outcome: len(one.calls)
    ),
}
"""Metrics of every evaluation."""
MISTAKE_GAUGES = {
    "first_call_failed": RatioMetric(
        lambda one, outcome: float(_first_call_failed(one)), lambda one, outcome: float(_first_call(one) is not None)
    )
}
"""Metric of demonstrations with mistakes: share of rollouts with a failing first call, among those with a call."""
