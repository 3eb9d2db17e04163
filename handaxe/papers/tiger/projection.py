"""Pinhole cameras and planes in small whole numbers, with parameters to look up."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from handaxe.core.errors import InputError, Retry
from handaxe.core.records import Message, Task
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.numeric_match import numeric_match
from handaxe.tools.calculator import calculator
from handaxe.tools.decorator import tool
from handaxe.tools.python import python
from handaxe.worlds.parts.answering import is_number_answer
from handaxe.worlds.parts.call_metrics import wasted_calls
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.experts import arithmetic_call, calls_then_answer
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.world import DemonstrationNoise, Split, Start, World

__all__ = ["KINDS", "camera", "plane", "projection"]

START = Start(
    DemonstrationNoise(call_rate=0.85, corrupt_rate=0.1), skill=160, steps=20, batch_size=16, learning_rate=2e-3
)
FOCAL = (60, 120, 180, 240, 300)
DEPTHS = (2, 3, 4, 5, 6)
"""Divisors of every focal length: all answers are whole numbers."""
SOLVERS = {"calculator": calculator, "python": python}


@tool(timeout=None)
def camera(name: Annotated[str, "three digits"]) -> str:
    """Look up a camera: its focal length and the middle of its picture, in pixels."""
    return " ".join(map(str, _camera(_known(name))))


@tool(timeout=None)
def plane(name: Annotated[str, "three digits"]) -> str:
    """Look up a plane: a, b and c of its height a x + b y + c."""
    return " ".join(map(str, _plane(_known(name))))


def projection(
    *, kinds: tuple[str, ...] = ("project", "back", "height"), solver: Literal["calculator", "python"] = "calculator"
) -> World:
    """Geometry questions with two calls: look up a camera or a plane, then compute a formula.

        project   u = f x / z + c      image position of a point at x, z                  "cam 417 x 6 z 3 u?"
        back      x = (u - c) z / f    position of an image point at depth z              "cam 417 u 182 z 3 x?"
        height    h = a x + b y + c    height of a plane above a point                    "plane 208 x 3 y 4 h?"

    Cameras and planes of training and test are disjoint. All numbers are whole.

    Args:
        kinds: kinds of questions, drawn evenly.
        solver: offered tool for formulas, calculator or python. `--tools` may add to it or replace it; gold calls name
            the solver.

    Returns:
        A world broken down by "kind", correct within 0.1 %, with the gauge wasted_calls. Tasks keep their "gold_calls".

    Raises:
        InputError: no kinds, or an unknown kind or solver.

    Example:
        "cam 417 x 6 z 3 u?": camera {"name": "417"} returns "60 62", calculator {"expression": "60*6/3+62"} "182", and
        the answer is "182"

    Idea: tool use of robots, with numbers instead of pictures.
    """
    if not kinds or not set(kinds) <= set(KINDS) or solver not in SOLVERS:
        raise InputError(f"kinds are some of {', '.join(KINDS)}, solver calculator or python: {kinds}, {solver}")

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_task(f"projection-{split}-{seed}-{i}", split, kinds, solver) for i in range(count)]

    return World(
        name="projection",
        tasks=tasks,
        env=lambda offered: tool_chat([camera, plane, *offered]),
        correct=numeric_match(rel_tol=0.001),
        tools=(SOLVERS[solver],),
        breakdown=("kind",),
        is_answer=is_number_answer,
        reference=reference_calls,
        expert=calls_then_answer(lambda task, facts: reference_calls(task)),
        start=START,
        gauges={"wasted_calls": wasted_calls(reference_calls)},
    )


def _task(name: str, split: Split, kinds: Sequence[str], solver: str) -> Task:
    rng = random.Random(derive_seed("projection", name))
    kind = rng.choice(tuple(kinds))
    item = str(rng.randrange(100, 1000))
    while _split(item) != split:
        item = str(rng.randrange(100, 1000))
    looked_up, question, formula, answer = KINDS[kind](rng, item)
    (solve,) = arithmetic_call(formula, [solver])
    gold = [
        {"name": looked_up, "arguments": {"name": item}},
        {"name": solve.name, "arguments": {**solve.arguments}},
    ]
    return Task(name, (Message("user", question),), str(answer), None, {"kind": kind, "gold_calls": gold})


def _project(rng: random.Random, name: str) -> tuple[str, str, str, int]:
    focal, middle = _camera(name)
    x, z = rng.randrange(1, 10), rng.choice(DEPTHS)
    return "camera", f"cam {name} x {x} z {z} u?", f"{focal}*{x}/{z}+{middle}", focal * x // z + middle


def _back(rng: random.Random, name: str) -> tuple[str, str, str, int]:
    focal, middle = _camera(name)
    x, z = rng.randrange(1, 10), rng.choice(DEPTHS)
    u = focal * x // z + middle
    return "camera", f"cam {name} u {u} z {z} x?", f"({u}-{middle})*{z}/{focal}", x


def _height(rng: random.Random, name: str) -> tuple[str, str, str, int]:
    a, b, c = _plane(name)
    x, y = rng.randrange(1, 10), rng.randrange(1, 10)
    return "plane", f"plane {name} x {x} y {y} h?", f"{a}*{x}+{b}*{y}+{c}", a * x + b * y + c


KINDS: dict[str, Callable[[random.Random, str], tuple[str, str, str, int]]] = {
    "project": _project,
    "back": _back,
    "height": _height,
}


def _known(name: str) -> str:
    if not (len(name) == 3 and name.isascii() and name.isdigit() and name[0] != "0"):
        raise Retry(f"nothing is called {name[:20]!r}: a name has three digits")
    return name


def _camera(name: str) -> tuple[int, int]:
    drawn = random.Random(derive_seed("projection camera", name))
    return drawn.choice(FOCAL), drawn.randrange(16, 65)


def _plane(name: str) -> tuple[int, int, int]:
    drawn = random.Random(derive_seed("projection plane", name))
    return drawn.randrange(2, 10), drawn.randrange(2, 10), drawn.randrange(11, 100)


def _split(name: str) -> Split:
    return "test" if derive_seed("projection split", name) % 4 == 0 else "train"
