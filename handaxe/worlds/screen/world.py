"""Screens in text form: questions for an action, a box, a width or a description."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import EnvFactory, Reward
from handaxe.core.records import Group, Message, Task, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.action_match import action_match
from handaxe.rewards.box_overlap import box_overlap
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.numeric_match import numeric_match
from handaxe.tools.decorator import tool
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.parts.single_turn import single_turn
from handaxe.worlds.screen.layout import SIDES, Box, Screen, draw_screen, gold_box, predicted_box
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["Answer", "NEAR", "click", "screen", "scroll", "write"]

Answer = Literal["action", "box", "number", "words"]
NEAR = 7.0
"""Maximum distance of a correct click from the gold point: about 140 pixels on a screen of 2000."""
INSIDE = 2
"""Distance of the expert's click from the corner of a box."""
SMALL = 300
"""Boxes with less area are small."""
ACTING = Start(
    DemonstrationNoise(call_rate=0.6, corrupt_rate=0.3), skill=200, steps=30, batch_size=16, learning_rate=2e-3
)
SAYING = Start(DemonstrationNoise(), skill=200, steps=0, batch_size=16, learning_rate=2e-3)


@tool(timeout=None)
def click(x: Annotated[int, "from the left"], y: Annotated[int, "from below"]) -> str:
    """Press at a point."""
    return f"clicked {x} {y}"


@tool(timeout=None)
def write(text: Annotated[str, "what to write"]) -> str:
    """Write into the box at hand."""
    return f"wrote {text}"


@tool(timeout=None)
def scroll(direction: Literal["up", "down", "left", "right"]) -> str:
    """Move what is shown."""
    return f"scrolled {direction}"


class _Form(NamedTuple):
    """Kind of answer: questions and answers about a target, correctness rule, tools, and start."""

    ask: Callable[[random.Random, Screen, str], tuple[str, str, dict[str, Any]]]
    correct: Reward
    tools: tuple[Any, ...] = ()
    env: Callable[[Sequence[Any]], EnvFactory] = tool_chat
    start: Start = SAYING
    gauges: tuple[str, ...] = ()


def screen(*, answer: Answer = "action", boxes: int = 5, loose: float = 0.0) -> World:
    """Questions about named boxes with given corners, one box a line: "tok 12 30 40 46".

    Args:
        answer: kind of question.
            action  one call and nothing else: "press tok" click, "write gam" write, "go down" scroll
            box     the four numbers of a box; correct if its middle lies in the target
            number  the width of a box; correct within 5 %
            words   a sentence: "tok?" is "a small box at the top left"
        boxes: boxes on a screen, 1 to 6.
        loose: deviation of the expert's boxes: each side is off by up to this share of the box's length. The expert's
            boxes are correct all the same, so a policy that imitates them draws loose boxes.

    Returns:
        A world of one turn, broken down by "kind" (of action) and "size" (of the target: small is less than 300 of
        10000). Tasks keep the target's "box", and action tasks the "gold_calls", which their answer expresses in words.
        Gauges of box: iou, edges, and size, the area of the predicted boxes divided by the area of the targets.

    Raises:
        InputError: an argument out of range.

    Example:
        "tok 12 30 40 46\\npress tok" is answered by click {"x": 14, "y": 32}

    Idea: rewards of GUI agents in text form, where arithmetic decides whether a click is correct.
    """
    if answer not in FORMS or not 0 <= loose < 1:
        raise InputError(f"answer is one of {', '.join(FORMS)} and loose at least 0 and below 1: {answer!r}, {loose}")
    form = FORMS[answer]

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_task(form, answer, boxes, f"screen-{answer}-{split}-{seed}-{i}", split) for i in range(count)]

    def expert(task: Task, facts: Facts) -> Message:
        del facts
        if "gold_calls" in task.metadata:
            return Message("assistant", "", reference_calls(task))
        text = _loose_box(gold_box(task), loose, task.id) if answer == "box" and loose else task.answer
        return Message("assistant", text)

    return World(
        name="screen",
        tasks=tasks,
        env=form.env,
        correct=form.correct,
        tools=form.tools,
        breakdown=("kind", "size"),
        reference=reference_calls if form.tools else None,
        expert=expert,
        start=form.start,
        gauges={name: GAUGES[name] for name in form.gauges},
    )


def _task(form: _Form, answer: str, boxes: int, name: str, split: Split) -> Task:
    rng = random.Random(derive_seed("screen", answer, boxes, name))
    shown = draw_screen(rng, split, boxes=boxes)
    target = rng.choice(list(shown.boxes))
    question, gold, more = form.ask(rng, shown, target)
    left, low, right, high = shown.boxes[target]
    size = "small" if (right - left) * (high - low) < SMALL else "large"
    metadata = {"kind": answer, "size": size, "box": [left, low, right, high], **more}
    return Task(name, (Message("user", f"{shown.to_text()}\n{question}"),), gold, None, metadata)


def _ask_action(rng: random.Random, shown: Screen, target: str) -> tuple[str, str, dict[str, Any]]:
    left, low, _, _ = shown.boxes[target]
    word = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=3))
    direction = rng.choice(("up", "down", "left", "right"))
    question, name, arguments = rng.choice(
        (
            (f"press {target}", "click", {"x": left + INSIDE, "y": low + INSIDE}),
            (f"write {word}", "write", {"text": word}),
            (f"go {direction}", "scroll", {"direction": direction}),
        )
    )
    answer = " ".join(map(str, (name, *arguments.values())))
    return question, answer, {"kind": name, "gold_calls": [{"name": name, "arguments": arguments}]}


def _ask_box(rng: random.Random, shown: Screen, target: str) -> tuple[str, str, dict[str, Any]]:
    del rng
    return f"box of {target}?", " ".join(map(str, shown.boxes[target])), {}


def _ask_number(rng: random.Random, shown: Screen, target: str) -> tuple[str, str, dict[str, Any]]:
    del rng
    left, _, right, _ = shown.boxes[target]
    return f"width of {target}?", str(right - left), {}


def _ask_words(rng: random.Random, shown: Screen, target: str) -> tuple[str, str, dict[str, Any]]:
    del rng
    left, low, right, high = shown.boxes[target]
    size = "small" if (right - left) * (high - low) < SMALL else "large"
    down, across = _third((low + high) / 2), _third((left + right) / 2)
    place = " ".join((("bottom", "middle", "top")[down], ("left", "centre", "right")[across]))
    return f"{target}?", f"a {size} box at the {place}", {}


def _third(middle: float) -> int:
    return int(middle >= 40) + int(middle >= 70)


def _loose_box(box: Box, loose: float, name: str) -> str:
    """A box with its middle in the given box, and sides off by up to a share of the length."""
    rng = random.Random(derive_seed("loose", name))
    lengths = (box[2] - box[0], box[3] - box[1])
    while True:
        sides = [side + round(rng.uniform(-loose, loose) * lengths[k % 2]) for k, side in enumerate(box)]
        proper = sides[0] < sides[2] and sides[1] < sides[3] and min(sides) >= 10 and max(sides) <= 99
        if proper and all(box[k] <= (sides[k] + sides[k + 2]) / 2 <= box[k + 2] for k in (0, 1)):
            return " ".join(map(str, sides))


def _gauge(reward: Reward) -> RatioMetric:
    """The mean of a reward."""
    return RatioMetric(lambda one, outcome: float(reward(Group(one.task, (one,))).outcome[0]))


def _area(box: Sequence[float] | None) -> float:
    return 0.0 if box is None else max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def _predicted_area(trajectory: Trajectory, outcome: float) -> float:
    del outcome
    return _area(predicted_box(trajectory))


def _gold_area(trajectory: Trajectory, outcome: float) -> float:
    """Area of the target if a box was predicted."""
    del outcome
    return _area(gold_box(trajectory.task)) if predicted_box(trajectory) is not None else 0.0


GAUGES = {
    "iou": _gauge(box_overlap(found=predicted_box, gold=gold_box)),
    "edges": _gauge(box_overlap(found=predicted_box, gold=gold_box, measure="edges", sides=SIDES)),
    "size": RatioMetric(_predicted_area, _gold_area),
}
FORMS = {
    "action": _Form(
        _ask_action,
        action_match(gold=reference_calls, box=gold_box, radius=NEAR),
        tools=(click, write, scroll),
        env=single_turn,
        start=ACTING,
    ),
    "box": _Form(
        _ask_box,
        box_overlap(found=predicted_box, gold=gold_box, measure="centre"),
        gauges=("iou", "edges", "size"),
    ),
    "number": _Form(_ask_number, numeric_match(rel_tol=0.05)),
    "words": _Form(_ask_words, exact_match()),
}
