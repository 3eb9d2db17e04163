"""Canvas: images that the policy makes with a painting tool, from programs, and corrects after a look at them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from handaxe.core.errors import InputError, Retry
from handaxe.core.images import Image
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.outcome import outcome
from handaxe.tools.decorator import tool
from handaxe.worlds.canvas.drawing import CELLS, COLOURS, SHAPES, Item, Items, draw_program, paint_items, parse_program
from handaxe.worlds.canvas.request import ItemClause, clause_words, differing_cells, fidelity, similarity
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["Drawing", "SHOWN", "canvas", "drawings", "final_fidelity", "qualities", "task_items", "wanted_clauses"]

SHOWN = 32
"""Pixels of a side of the images."""
CALLS = 8
"""Calls whose faithfulness a task states; later ones are faithful."""
SLIPS_IN_A_ROW = 2
STRIDE = 3
"""Cells of the distance to a wrong place, times the shift."""
SCENE = 3
"""Objects of the image in a task that changes one."""
TEST_SHARE = 5
"""One request of this number is for tests."""
ERRORS = ("place", "colour")
TOOLS = ("paint", "edit")
START = Start(DemonstrationNoise(call_rate=0.75), skill=90, steps=20, batch_size=32, learning_rate=1e-3)


class Drawing(NamedTuple):
    """A drawing of a rollout: the turn that made it, objects, and the program."""

    turn: int
    items: Items
    program: str


def canvas(
    *,
    objects: int = 1,
    colours: int = 6,
    shapes: int = 4,
    changes: float = 0.5,
    counts: float = 0.0,
    slips: float = 0.5,
    errs: Literal["place", "colour"] = "place",
) -> World:
    """Drawings on request: the policy writes a program, the drawing comes back as an image, and the policy corrects it.

    The painter is imperfect, as an image generator is: in a call that slips, the last new object of the program comes
    out at another place, or in another colour. The image shows the slip, and the tool's text does not. So painting
    again without a look is correct as often as painting once. The expert writes the shown object, as a judgement of the
    image, and then refines or ends.

    Args:
        objects: clauses of a request, 1 to 4.
        colours: number of colours that a request to draw may state, from `objects` to 6; the first is red.
        shapes: number of shapes, 1 to 4.
        changes: share of tasks that show an image of three objects and ask for another colour of the red one.
        counts: share of clauses that ask for 2 or 3 equal objects anywhere.
        slips: probability that a call slips, 0 to 0.9; at most two in a row slip.
        errs: what a slip changes, "place" or "colour"; an object that is dyed gets another colour in either case.

    Returns:
        A world broken down by "kind" and "slipped" (the first call). Correct: the last drawing has the requested
        objects alone, and the rollout is completed. Gauges: fidelity of the last drawing, refined (share of rollouts
        with two drawings or more), and reflection (share of the decisions after a drawing that are right: another
        drawing after an incorrect one, the end after a correct one).

    Raises:
        InputError: an argument out of range; Pillow is missing (extra [images]).

    Example:
        "draw red disc at 2 4": paint {"program": "red disc 2 4"} shows a disc at 0 6; the policy writes "red disc 0 6"
        and paints again, sees the disc at 2 4, and ends with "red disc 2 4"

    Idea: an image generator as a tool whose results are known by construction; GenAgent (arXiv:2601.18543).
    """
    shares = {"changes": changes, "counts": counts, "slips": slips / 0.9}
    numbers = 1 <= objects <= min(4, colours) and colours <= len(COLOURS) and 1 <= shapes <= len(SHAPES)
    if not (numbers and errs in ERRORS and all(0 <= share <= 1 for share in shares.values())):
        raise InputError(
            f"canvas has objects={objects}, colours={colours}, shapes={shapes}, changes={changes}, counts={counts}, "
            f"slips={slips} and errs={errs!r}; give 1 to 4, `objects` to 6, 1 to 4, two shares of 0 to 1, 0 to 0.9, "
            "and place or colour"
        )
    paint_items(())  # raises early without Pillow
    make = partial(
        _task,
        objects=objects,
        names=tuple(COLOURS)[:colours],
        shapes=SHAPES[:shapes],
        changes=changes,
        counts=counts,
        slips=slips,
        errs=errs,
    )

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [make(split, seed, number) for number in range(count)]

    return World(
        name="canvas",
        tasks=tasks,
        env=_env,
        correct=outcome(lambda one: float(one.ending.kind == "completed" and final_fidelity(one) == 1)),
        breakdown=("kind", "slipped"),
        hidden_keys=("wanted", "program", "slips", "errs"),
        is_answer=is_text_answer,
        expert=_expert,
        start=START,
        start_model="tiny_vision",
        gauges=GAUGES,
    )


def drawings(trajectory: Trajectory) -> list[Drawing]:
    """Return the drawing after each successful call, by carrying out the programs again."""
    task = trajectory.task
    items, found = task_items(task), list[Drawing]()
    for number, turn in enumerate(trajectory.turns):
        done = {reply.call_id for reply in turn.replies if reply.status == "ok" and reply.name in TOOLS}
        for call in (call for call in turn.parsed.calls if call.id in done):
            program = str(call.arguments["program"])
            items = _slip(task, len(found), program, () if call.name == "paint" else items)
            found.append(Drawing(number, items, program))
    return found


def wanted_clauses(task: Task) -> tuple[ItemClause, ...]:
    """Return the clauses of a task's request."""
    return tuple(ItemClause(*one) for one in task.metadata["wanted"])


def qualities(trajectory: Trajectory) -> list[float]:
    """Return the fidelity of each drawing of a rollout, in order."""
    return [fidelity(one.items, wanted_clauses(trajectory.task)) for one in drawings(trajectory)]


def final_fidelity(trajectory: Trajectory) -> float:
    """Return the fidelity of the last drawing; of the task's image, or of the blank canvas, without one."""
    found = qualities(trajectory)
    return found[-1] if found else fidelity(task_items(trajectory.task), wanted_clauses(trajectory.task))


class _Canvas:
    """Painting tools of a rollout."""

    def __init__(self, task: Task):
        self._task = task
        self._items = task_items(task)
        self._calls = 0

    @tool(timeout=None)
    def paint(self, program: str) -> Image:
        """Draw on a blank canvas.

        Args:
            program: statements such as "red disc 2 4; blue ring 0 0"
        """
        return self._draw(program, ())

    @tool(timeout=None)
    def edit(self, program: str) -> Image:
        """Change the drawing.

        Args:
            program: statements such as "dye 2 4 blue; clear 0 0; move 2 4 6 6"
        """
        return self._draw(program, self._items)

    def _draw(self, program: str, items: Items) -> Image:
        self._items = _slip(self._task, self._calls, program, items)
        self._calls += 1
        return paint_items(self._items, SHOWN)

    def snapshot(self) -> tuple[Items, int]:
        """Return the drawing and the number of calls."""
        return self._items, self._calls

    def restore(self, state: tuple[Items, int]) -> None:
        """Go back to a snapshot."""
        self._items, self._calls = state


@tool(name="compare", timeout=None)
def _compare(first: Image, second: Image) -> str:
    """Compare two images."""
    if (first.width, first.height) != (second.width, second.height) or first.width % 4 or first.width != first.height:
        raise Retry("the images differ in size: compare two drawings")
    cells = ", ".join(f"{x} {y}" for x, y in differing_cells(first, second))
    return f"similarity {similarity(first, second):.2f}, " + (f"different at {cells}" if cells else "equal")


def _env(tools: Sequence[Any]) -> EnvFactory:
    def of(task: Task) -> EnvFactory:
        return tool_chat([lambda: _Canvas(task), _compare, *tools])

    def make(task: Task) -> Env:
        return of(task)(task)

    # Raises early for bad tools, and bounds the number of open environments.
    return inherit_bound(make, of(Task("", (), None, metadata={"items": []})))


def task_items(task: Task) -> Items:
    """Return the objects of a task's image; none for a request without one."""
    return tuple(Item(*one) for one in task.metadata["items"])


def _slip(task: Task, number: int, program: str, items: Items) -> Items:
    """Carry out a program as call `number` of a task: faithfully, or with a slip in the last painted object."""
    made = draw_program(program, items)
    shift = task.metadata["slips"][number] if number < CALLS else 0
    painted = [one for one in parse_program(program) if one.painted is not None]
    found = [one for one in made if painted and (one.left, one.top) == painted[-1].painted]
    if not shift or not found:
        return made
    (item,) = found
    if task.metadata["errs"] == "place" and painted[-1].draws:
        cell = (CELLS.index((item.left, item.top)) if (item.left, item.top) in CELLS else 0) + STRIDE * shift
        x, y = CELLS[cell % len(CELLS)]
        return draw_program(f"clear {item.left} {item.top}; {item.colour} {item.shape} {x} {y}", made)
    names = tuple(COLOURS)
    other = names[(names.index(item.colour) + shift) % len(names)]
    return draw_program(f"dye {item.left} {item.top} {other}", made)


def _expert(task: Task, facts: Facts) -> Message:
    """Draw, write the shown object, draw again after a slip, and end."""
    turn, program = facts["turn"], task.metadata["program"]
    drawn = task_items(task)
    for number in range(turn):
        drawn = _slip(task, number, program, () if task.metadata["kind"] == "make" else drawn)
    seen = "" if turn == 0 else _words(task.metadata["kind"], drawn)
    slips = [1, *task.metadata["slips"]]  # before the first drawing, a drawing is wanted
    if not slips[min(turn, CALLS)] or not facts["tools"]:
        return Message("assistant", seen or str(task.answer))
    name = "paint" if task.metadata["kind"] == "make" else "edit"
    return Message("assistant", seen, (ToolCall(name, {"program": program}),))


def _words(kind: str, items: Items) -> str:
    """Write the object in question: the last one of a request to draw, the first one of an image."""
    item = items[-1 if kind == "make" else 0]
    return f"{item.colour} {item.shape} {item.left} {item.top}"


def _task(
    split: Split,
    seed: int,
    number: int,
    *,
    objects: int,
    names: Sequence[str],
    shapes: Sequence[str],
    changes: float,
    counts: float,
    slips: float,
    errs: str,
) -> Task:
    rng = random.Random(derive_seed("canvas", split, seed, number))
    kind = "change" if rng.random() < changes else "make"
    request: Callable[[], _Request] = (
        partial(_changed, rng, shapes) if kind == "change" else partial(_made, rng, objects, names, shapes, counts)
    )
    while (drawn := request()) is not None:
        items = [" ".join(map(str, one)) for one in drawn.items]
        if content_split("canvas request", drawn.words, *items, one_in=TEST_SHARE) == split:
            break
    shifts = _shifts(rng, slips)
    metadata = {
        "kind": kind,
        "slipped": "yes" if shifts[0] else "no",
        "items": [list(one) for one in drawn.items],
        "wanted": [list(one) for one in drawn.clauses],
        "program": drawn.program,
        "slips": shifts,
        "errs": errs,
    }
    shown = [paint_items(drawn.items, SHOWN)] if kind == "change" else []
    asked = Message.of("user", drawn.words, *shown)
    answer = _words(kind, draw_program(drawn.program, drawn.items))
    return Task(f"canvas-{split}-{seed}-{number}", (asked,), answer, metadata=metadata)


class _Request(NamedTuple):
    """words, image before, clauses, and a program that fulfils them."""

    words: str
    items: Items
    clauses: tuple[ItemClause, ...]
    program: str


def _made(rng: random.Random, objects: int, names: Sequence[str], shapes: Sequence[str], counts: float) -> _Request:
    """Draw clauses of different colours; places of counted objects are those of the program alone."""
    colours, cells = rng.sample(list(names), objects), rng.sample(CELLS, len(CELLS))
    clauses, statements = list[ItemClause](), list[str]()
    for colour in colours:
        shape, counted = rng.choice(shapes), rng.random() < counts
        places = [cells.pop() for _ in range(rng.randint(2, 3) if counted else 1)]
        clauses.append(ItemClause(len(places), colour, shape, *([] if counted else places[0])))
        statements += [f"{colour} {shape} {x} {y}" for x, y in places]
    return _Request(f"draw {clause_words(clauses)}", (), tuple(clauses), "; ".join(statements))


def _changed(rng: random.Random, shapes: Sequence[str]) -> _Request:
    """Draw an image with one red object, and another colour for it."""
    others = [name for name in COLOURS if name != "red"]
    colours = ["red", *rng.sample(others, SCENE - 1)]
    items = tuple(
        Item(colour, rng.choice(shapes), *cell) for colour, cell in zip(colours, rng.sample(CELLS, SCENE), strict=True)
    )
    new = rng.choice(others)
    after = (items[0]._replace(colour=new), *items[1:])
    clauses = tuple(ItemClause(1, *one) for one in after)
    return _Request(f"red to {new}", items, clauses, f"dye {items[0].left} {items[0].top} {new}")


def _shifts(rng: random.Random, slips: float) -> list[int]:
    """Draw for each call 0, or the distance to another colour; at most two in a row are not 0."""
    shifts = list[int]()
    for _ in range(CALLS):
        full = len(shifts) >= SLIPS_IN_A_ROW and all(shifts[-SLIPS_IN_A_ROW:])
        shift = rng.randrange(1, len(COLOURS))
        shifts.append(shift if rng.random() < slips and not full else 0)
    return shifts


def _reflections(trajectory: Trajectory) -> tuple[float, float]:
    """Number of right decisions after a drawing, and of all."""
    found = [quality == 1 for quality in qualities(trajectory)]
    last = [found[-1] and trajectory.ending.kind == "completed"] if found else []
    return float(sum(not good for good in found[:-1]) + sum(last)), float(len(found))


GAUGES = {
    "fidelity": RatioMetric(lambda one, outcome: final_fidelity(one)),
    "refined": RatioMetric(lambda one, outcome: float(len(drawings(one)) > 1)),
    "reflection": RatioMetric(lambda one, outcome: _reflections(one)[0], lambda one, outcome: _reflections(one)[1]),
}
"""Metrics of every evaluation."""
