"""Films of real clips with numbers on cards: the overview does not show the red card, and views of windows find it."""

from __future__ import annotations

import random
from collections.abc import Sequence
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
from handaxe.worlds.clips.film import LENGTH, OVERVIEW, draw_film, sheet, sheet_frames
from handaxe.worlds.clips.views import (
    CROP,
    FRAMES,
    FilmView,
    Window,
    gold_window,
    last_window,
    parse_span,
    seen_windows,
)
from handaxe.worlds.parts.answering import is_number_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.world import DemonstrationNoise, Expert, Facts, Split, Start, World

__all__ = ["clips", "window_iou"]

START = Start(
    DemonstrationNoise(call_rate=0.85, spurious_rate=0.3, corrupt_rate=0.1),
    skill=60,
    steps=20,
    batch_size=32,
    learning_rate=1e-3,
)
ENOUGH = 0.5
"""Temporal overlap of a correct interval."""
STEP = LENGTH // 16
"""Frames between two frames of a sheet of the whole film."""
POOR = 0.5
"""A view with less overlap with the event is poor."""


def clips(*, needed: float = 0.75, grounding: float = 0.0, loose: int = 0) -> World:
    """Films of 64 frames from real clips, with a number on a red card for an interval of 6 to 12 frames.

    The overview has four frames. A share of the questions needs no search: the red card covers a frame of the overview,
    and the question asks which. In all others the overview does not show the red card. The tool `frames` shows 1, 4 or
    16 frames of a window on a sheet of 32 by 32 pixels, and `crop_clip` the middle frame of a window: a number is
    readable in one frame alone.

    Args:
        needed: share of questions that need a search, 0 to 1.
        grounding: share of these that ask for the interval of the red card, 0 to 1; the others ask for its number.
        loose: maximum frames by which each side of the expert's window exceeds what the sheet of 16 shows.

    Returns:
        A world broken down by "needs_tool" and "family" (read, when or at). No part of a clip and no handwriting is in
        both splits. An interval is correct if its temporal IoU with the event is 0.5 or more. Gauges: iou (temporal IoU
        of the last window with the event, on questions for the number), width (frames of the last window), looked
        (share of rollouts with a view), and second_look (share of rollouts with a second view, among those with a first
        view of little overlap).

    Raises:
        InputError: an argument out of range; av, scikit-video, scikit-learn or Pillow is missing (extras [video] and
            [plates]).

    Example:
        "red?" and an overview: frames {"window": "0 64 16"} shows a red card in frames 14 and 18, crop_clip
        {"span": "12 20"} shows its number, and the answer is "90"; "red when?" is "12 20"; "red at?" is "24"

    Idea: the setting of LongVT (arXiv:2511.20785): a glance over a long video, then a crop of it, and evidence with a
        known interval.
    """
    for name, share in (("needed", needed), ("grounding", grounding)):
        if not 0 <= share <= 1:
            raise InputError(f"clips takes a share {name} of 0 to 1, not {share}")
    if not 0 <= loose <= LENGTH:
        raise InputError(f"loose is {loose}; give 0 to {LENGTH} frames")

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_task(split, seed, number, needed, grounding) for number in range(count)]

    return World(
        name="clips",
        tasks=tasks,
        env=_env,
        correct=answer_score(scorer=_score),
        breakdown=("needs_tool", "family"),
        hidden_keys=("film",),
        is_answer=is_number_answer,
        expert=_expert(loose),
        start=START,
        start_model="tiny_vision",
        gauges=GAUGES,
    )


window_iou: Reward = box_overlap(found=last_window, gold=gold_window)
"""Temporal intersection over union of the last window and the red card's interval."""


def _task(split: Split, seed: int, number: int, needed: float, grounding: float) -> Task:
    rng = random.Random(derive_seed("clips", split, seed, number))
    searches = rng.random() < needed
    family = ("when" if rng.random() < grounding else "read") if searches else "at"
    film = draw_film(rng, split, hidden=searches)
    red = film.cards[0]
    shown = [one for one in sheet_frames(0, LENGTH, OVERVIEW) if red.start <= one < red.stop]
    answer = {"read": red.plate.number, "when": f"{red.start} {red.stop}", "at": " ".join(map(str, shown))}[family]
    metadata = {
        "needs_tool": "yes" if searches else "no",
        "family": family,
        "gold": [red.start, red.stop],
        "film": film.as_json(),
    }
    question = {"read": "red?", "when": "red when?", "at": "red at?"}[family]
    asked = Message.of("user", question, sheet(film, 0, LENGTH, OVERVIEW))
    return Task(f"clips-{split}-{seed}-{number}", (asked,), answer, metadata=metadata)


def _score(task: Task, text: str) -> float:
    """1 for the number or the frame, and for an interval that overlaps enough."""
    if task.metadata["family"] != "when":
        return float(text.strip() == task.answer)
    span = parse_span(text)
    return float(span is not None and _iou(span, gold_window(task)) >= ENOUGH)


def _iou(one: Window, other: Window) -> float:
    common = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    return common / (one[1] - one[0] + other[1] - other[0] - common)


def _env(tools: Sequence[Any]) -> EnvFactory:
    # Raises early for bad tools, and bounds the number of open environments.
    probe = tool_chat([lambda: FilmView(Task("", (), None)), *tools])

    def make(task: Task) -> Env:
        return tool_chat([lambda: FilmView(task), *tools])(task)

    return inherit_bound(make, probe)


def _expert(loose: int) -> Expert:
    def expert(task: Task, facts: Facts) -> Message:
        """Look at the whole film, then at the part with the red card; then answer."""
        calls = _calls(task, facts, loose)
        if facts["turn"] < len(calls):
            return Message("assistant", "", (calls[facts["turn"]],))
        if task.metadata["family"] == "when":
            return Message("assistant", " ".join(map(str, _visible_window(task))))
        return Message("assistant", str(task.answer))

    return expert


def _calls(task: Task, facts: Facts, loose: int) -> list[ToolCall]:
    if task.metadata["needs_tool"] == "no" and facts.get("sure", True):
        return []
    calls = [ToolCall(FRAMES, {"window": f"0 {LENGTH} 16"})]
    if task.metadata["family"] == "read":
        rng = random.Random(derive_seed("clips off", task.id))
        start, stop = _visible_window(task)
        span = max(0, start - rng.randint(0, loose)), min(LENGTH, stop + rng.randint(0, loose))
        calls.append(ToolCall(CROP, {"span": f"{span[0]} {span[1]}"}))
    return [call for call in calls if call.name in facts["tools"]]


def _visible_window(task: Task) -> Window:
    """The interval of the red card as far as the sheet of the whole film shows it."""
    start, stop = gold_window(task)
    seen = [one for one in sheet_frames(0, LENGTH, LENGTH // STEP) if start <= one < stop]
    return seen[0] - STEP // 2, seen[-1] + STEP // 2


def _overlap(trajectory: Trajectory) -> float:
    return float(window_iou(Group(trajectory.task, (trajectory,))).outcome[0])


def _reads(trajectory: Trajectory) -> float:
    return float(trajectory.task.metadata["family"] == "read")


def _width(trajectory: Trajectory) -> float:
    window = last_window(trajectory)
    return 0.0 if window is None else float(window[1] - window[0])


def _looked(trajectory: Trajectory) -> float:
    return float(last_window(trajectory) is not None)


def _poor_first_view(trajectory: Trajectory) -> bool:
    seen = seen_windows(trajectory)
    return bool(seen) and _iou(seen[0].window, gold_window(trajectory.task)) < POOR


GAUGES = {
    "iou": RatioMetric(lambda one, outcome: _overlap(one) * _reads(one), lambda one, outcome: _reads(one)),
    "width": RatioMetric(lambda one, outcome: _width(one), lambda one, outcome: _looked(one)),
    "looked": RatioMetric(lambda one, outcome: _looked(one)),
    "second_look": RatioMetric(
        lambda one, outcome: float(_poor_first_view(one) and len(seen_windows(one)) > 1),
        lambda one, outcome: float(_poor_first_view(one)),
    ),
}
"""Metrics of every evaluation."""
