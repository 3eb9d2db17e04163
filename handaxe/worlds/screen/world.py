"""Drawn screens: act on the red widget, click on it, or state its box."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.image_decoding import import_pillow
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import EnvFactory, Reward
from handaxe.core.records import Group, Message, Task, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.action_match import action_match
from handaxe.rewards.box_overlap import box_overlap
from handaxe.rewards.outcome import outcome
from handaxe.tools.decorator import tool
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.parts.single_turn import single_turn
from handaxe.worlds.screen.sequence import Actions, Clicks, actions_right
from handaxe.worlds.screen.sequence import screens as make_row
from handaxe.worlds.screen.widgets import (
    KINDS,
    SIDES,
    Box,
    Kind,
    Widget,
    cell_box,
    draw_screen,
    draw_widgets,
    gold_box,
    predicted_box,
)
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["Answer", "NEAR", "click", "screen", "scroll", "write"]

Answer = Literal["action", "click", "box"]
NEAR = 0.6
"""Maximum distance of a correct click from the gold point, in units: about 140 pixels on a screen of 1920."""
SMALL = 6
"""Widgets with less area, in units, are small."""
MAX_SCREENS = 8
LETTERS = "abcdefghijklmnopqrstuvwxyz"
NOISE = DemonstrationNoise(call_rate=0.8, corrupt_rate=0.2)
ACTING = Start(DemonstrationNoise(corrupt_rate=0.2), skill=280, steps=10, batch_size=32, learning_rate=3e-3)
CLICKING = Start(NOISE, skill=150, steps=10, batch_size=32, learning_rate=3e-3)
STATING = Start(skill=120, steps=0, batch_size=32, learning_rate=2e-3)


@tool(timeout=None)
def click(point: Annotated[str, 'units from the left and from above, such as "3 5"']) -> str:
    """Press at a point."""
    return f"clicked {point}"


@tool(timeout=None)
def write(text: Annotated[str, "what to write"]) -> str:
    """Write into the red field."""
    return f"wrote {text}"


@tool(timeout=None)
def scroll(direction: Literal["up", "down", "left", "right"]) -> str:
    """Move what is shown."""
    return f"scrolled {direction}"


class _Form(NamedTuple):
    """Kind of answer: question and answer about the red widget, correctness rule, tools, and start."""

    ask: Callable[[random.Random, Widget], tuple[str, str, dict[str, Any] | None]]
    correct: Reward
    kinds: tuple[Kind, ...] = KINDS
    tools: tuple[Any, ...] = ()
    env: Callable[[Sequence[Any]], EnvFactory] = tool_chat
    row: type[Clicks] = Clicks
    start: Start = STATING
    gauges: tuple[str, ...] = ()


def screen(
    *, answer: Answer = "action", widgets: int = 3, screens: int = 1, loose: float = 0.0, told: bool = False
) -> World:
    """Screens of buttons, fields and arrows in colours; the question is about the red one.

    The policy sees an image of 32 by 32 pixels and answers in units of 4 pixels, from the upper left corner.

    Args:
        answer: kind of question.
            action  "red gam": one call and nothing else. A red button is clicked, "gam" is written into a red field,
                    and a red arrow is followed with scroll; the kind shows in the image alone
            click   "red?": a click on the red widget, whatever its kind
            box     "red box?": left, top, right and bottom; correct if the centre lies in the target
        widgets: widgets on a screen, 1 to 4.
        screens: screens in a row, 1 to 8, for answers with a call: each action is followed by the next screen, and the
            task is solved if all actions are correct.
        loose: probability that a side of the expert's box is one unit off, 0 to 1. The expert's boxes are correct all
            the same, so a policy that imitates the expert draws loose boxes.
        told: list the widgets in words, one a line, in place of the image: the control of the same tasks for a policy
            without vision, of one screen.

    Returns:
        A world of one turn a screen, broken down by "kind" (of the first red widget) and "size" (small is less than 6
        of 64 units). Tasks keep the target's "box", and tasks with a call the "gold_calls", which the answer expresses
        in words.
        Gauges of box: iou, edges, and size, the area of the predicted boxes divided by the area of the targets.

    Raises:
        InputError: an argument out of range, or Pillow is missing (extra [images]).

    Example:
        "red gam" and a screen with a red button on units 1 to 3 and 2: click {"point": "2 2"}

    Idea: the screenshots of GUI agents, as drawings that a policy of a million parameters can read.
    """
    if answer not in FORMS or not 0 <= loose <= 1:
        raise InputError(f"answer is one of {', '.join(FORMS)} and loose from 0 to 1: {answer!r}, {loose}")
    form, row = FORMS[answer], screens > 1
    if not 1 <= screens <= MAX_SCREENS or (row and (told or not form.tools)):
        raise InputError(
            f"screens is {screens}: give 1 to {MAX_SCREENS}, and 1 for boxes and for screens that are told in words"
        )

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        if not told:
            import_pillow()
        return [_task(form, answer, widgets, screens, told, split, seed, number) for number in range(count)]

    def expert(task: Task, facts: Facts) -> Message:
        if form.tools:
            done = min(facts["turn"], screens - 1)
            return Message("assistant", "", reference_calls(task)[done : done + 1])
        text = _loose_box(gold_box(task), loose, task.id) if answer == "box" and loose else task.answer
        return Message("assistant", text)

    return World(
        name="screen",
        tasks=tasks,
        env=(lambda tools: make_row(form.row, [one for one in tools if one not in form.tools])) if row else form.env,
        correct=_all_right if row else form.correct,
        tools=form.tools,
        breakdown=("kind", "size"),
        hidden_keys=("screens",),
        reference=reference_calls if form.tools else None,
        verdicts=partial(actions_right, near=NEAR) if form.tools else None,
        expert=expert,
        start=form.start,
        start_model="tiny" if told else "tiny_vision",
        gauges={name: GAUGES[name] for name in form.gauges},
    )


def _task(form: _Form, answer: str, count: int, screens: int, told: bool, split: Split, seed: int, number: int) -> Task:
    rng = random.Random(derive_seed("screen", answer, count, split, seed, number))
    drawn = [tuple(draw_widgets(rng, split, count=count, kinds=form.kinds)) for _ in range(screens)]
    asked = [form.ask(rng, widgets[0]) for widgets in drawn]
    shown, question = drawn[0], asked[0][0]
    red = shown[0]
    left, top, right, bottom = red.box
    metadata: dict[str, Any] = {
        "kind": red.kind,
        "size": "small" if (right - left) * (bottom - top) < SMALL else "large",
        "box": list(red.box),
        "screens": [
            [one[0], [[*widget[:2], list(widget.box), widget.direction] for widget in widgets]]
            for one, widgets in zip(asked, drawn)
        ],
    }
    if form.tools:
        metadata["gold_calls"] = [one[2] for one in asked]
    if told:
        lines = [widget.to_text() for widget in rng.sample(shown, count)]
        message = Message("user", "\n".join([*lines, question]))
    else:
        message = Message.of("user", question, draw_screen(shown))
    gold = "; ".join(one[1] for one in asked)
    return Task(f"screen-{answer}-{split}-{seed}-{number}", (message,), gold, metadata=metadata)


def _ask_action(rng: random.Random, red: Widget) -> tuple[str, str, dict[str, Any] | None]:
    word = "".join(rng.choices(LETTERS, k=3))
    actions: dict[str, tuple[str, dict[str, Any]]] = {
        "button": ("click", _middle(red.box)),
        "field": ("write", {"text": word}),
        "arrow": ("scroll", {"direction": red.direction}),
    }
    return f"red {word}", *_called(*actions[red.kind])


def _ask_click(rng: random.Random, red: Widget) -> tuple[str, str, dict[str, Any] | None]:
    del rng
    return "red?", *_called("click", _middle(red.box))


def _ask_box(rng: random.Random, red: Widget) -> tuple[str, str, dict[str, Any] | None]:
    del rng
    return "red box?", " ".join(map(str, red.box)), None


def _called(name: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return " ".join(map(str, (name, *arguments.values()))), {"name": name, "arguments": arguments}


def _middle(box: Box) -> dict[str, str]:
    """The unit in the middle of a box; of two, the left or upper one."""
    return {"point": f"{(box[0] + box[2] - 1) // 2} {(box[1] + box[3] - 1) // 2}"}


def _loose_box(box: Box, loose: float, name: str) -> str:
    """A box with its centre in the given box, and sides that may be off by one unit."""
    rng = random.Random(derive_seed("loose", name))
    while True:
        sides = [side + rng.choice((-1, 1)) * (rng.random() < loose) for side in box]
        proper = sides[0] < sides[2] and sides[1] < sides[3] and min(sides) >= 0 and max(sides) <= SIDES[0]
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
ACTION = action_match(gold=reference_calls, box=cell_box, radius=NEAR)
_all_right = outcome(
    lambda one: float(
        len(one.turns) == len(one.task.metadata["screens"]) and bool((actions_right(one, near=NEAR) > 0).all())
    )
)
FORMS = {
    "action": _Form(_ask_action, ACTION, tools=(click, write, scroll), env=single_turn, row=Actions, start=ACTING),
    "click": _Form(_ask_click, ACTION, tools=(click,), env=single_turn, start=CLICKING),
    "box": _Form(
        _ask_box,
        box_overlap(found=predicted_box, gold=gold_box, measure="centre"),
        gauges=("iou", "edges", "size"),
    ),
}
