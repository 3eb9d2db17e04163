"""Questions about a bar chart, most of them about the red bar. Bars have the names a to d, from the left.

kind    question    answer                                      needs the tool
value   "red?"      value of the red bar, "37"                  yes
sum     "red+a?"    sum of the values of the red bar and bar a  yes
larger  "red or a?" the higher of two bars, "a"                 no
count   "bars?"     number of bars, "3"                         no
box     "red at?"   box of the red bar in units, "2 3 4 8"      no
words   "say red?"  description, "a high bar at the far left"   no
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from handaxe.core.records import Message, Task
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.charts.drawing import MAX_BARS, MIN_BARS, NAMES, bar_box, chart_overview, draw_bars
from handaxe.worlds.charts.printed import printed_overview
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.plates.scene import Plate
from handaxe.worlds.world import Split

__all__ = ["Kind", "MEASURED", "bars_of", "chart_task"]

Kind = Literal["value", "sum", "larger", "count", "box", "words"]
MEASURED: tuple[Kind, ...] = ("value", "sum")
"""Kinds that need the tool: their answers are not in the overview."""
PLACES = ("at the far left", "left of the middle", "right of the middle", "at the far right")
LEVELS = ((2, "high"), (4, "medium"), (7, "low"))
"""Words for the height of a bar, by the largest first unit."""
SENTENCES: Mapping[Kind, str] = {
    "value": "What is the value of the red bar?",
    "sum": "What is the sum of the values of the red bar and bar {}?",
    "larger": "Which bar is higher, the red one or {}? Answer with red or {} alone.",
    "count": "How many bars are there?",
    "box": "Where is the red bar? Answer with left, top, right and bottom alone, each from 0 to 8.",
    "words": 'Describe the red bar, such as "a low bar left of the middle".',
}


class _Question(NamedTuple):
    """Brief text, answer, the bars that the answer is about, and the name of the second bar of the question."""

    text: str
    answer: str
    bars: tuple[int, ...]
    other: str = ""


def chart_task(split: Split, seed: int, number: int, kinds: Sequence[Kind], *, brief: bool = True) -> Task:
    """Create a question of one of the kinds, which are drawn with equal probability.

    With `brief`, the question is key words and the overview one of handwriting; else a sentence and one of print.

    Returns:
        A task with metadata "kind", "needs_tool" ("yes" or "no"), "column" (of the table), "asked" (bars whose labels
        are to be read), "gold" (box of the red bar for the kind "box", else the last of these labels, in units), "bars"
        (parameters of the drawing) and "brief".
    """
    rng = random.Random(derive_seed("charts", split, seed, number, *kinds))
    kind = rng.choice(list(kinds))
    while True:
        column, bars = draw_bars(rng, split, rng.randint(MIN_BARS, MAX_BARS))
        seen, made = chart_overview(bars), _question(kind, rng, bars)
        if made is not None and content_split("charts overview", seen.digest) == split:
            break
    metadata = {
        "kind": kind,
        "needs_tool": "yes" if kind in MEASURED else "no",
        "column": column,
        "asked": list(made.bars),
        "gold": list(bar_box(bars[made.bars[0]]) if kind == "box" else bars[made.bars[-1]].box),
        "brief": brief,
        "bars": [[one.colour, one.left, one.top, list(one.digits), list(one.shifts)] for one in bars],
    }
    sentence = f"The chart shows {column}. {SENTENCES[kind].format(made.other, made.other)}"
    shown = seen if brief else printed_overview(bars)
    asked = Message.of("user", f"{made.text}?" if brief else sentence, shown)
    return Task(f"charts-{kind}-{split}-{seed}-{number}", (asked,), made.answer, metadata=metadata)


def bars_of(task: Task) -> tuple[Plate, ...]:
    """Parse the bars of a task."""
    return tuple(
        Plate(colour, left, top, tuple(digits), tuple(shifts))
        for colour, left, top, digits, shifts in task.metadata["bars"]
    )


def _question(kind: Kind, rng: random.Random, bars: Sequence[Plate]) -> _Question | None:
    """Draw a question. Return None for two bars without a visible difference."""
    red = next(place for place, bar in enumerate(bars) if bar.colour == "red")
    box = bar_box(bars[red])
    other = rng.choice([place for place in range(len(bars)) if place != red])
    name = NAMES[other]
    match kind:
        case "value":
            return _Question("red", bars[red].number, (red,))
        case "sum":
            return _Question(f"red+{name}", str(int(bars[red].number) + int(bars[other].number)), (red, other), name)
        case "larger":
            tops = box[1], bar_box(bars[other])[1]
            higher = "red" if tops[0] < tops[1] else name
            return None if tops[0] == tops[1] else _Question(f"red or {name}", higher, (red,), name)
        case "count":
            return _Question("bars", str(len(bars)), (red,))
        case "box":
            return _Question("red at", " ".join(map(str, box)), (red,))
        case "words":
            level = next(word for last, word in LEVELS if box[1] <= last)
            return _Question("say red", f"a {level} bar {PLACES[red]}", (red,))
