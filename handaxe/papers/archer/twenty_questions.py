"""Something is thought of, and found out by questions that are answered with yes or no."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from handaxe.core.errors import InputError, Retry, TaskError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.envs.bounded_as import bounded_as
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.exact_match import exact_match
from handaxe.tools.decorator import Tool, tool
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.parts.search_tools import answers_in_words
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["ATTRIBUTES", "THINGS", "is_so", "twenty_questions"]

THINGS = (
    "owl",
    "cat",
    "bus",
    "pen",
    "cup",
    "hat",
    "key",
    "map",
    "nut",
    "oak",
    "pig",
    "rat",
    "saw",
    "tin",
    "van",
    "web",
    "axe",
    "bee",
    "cow",
    "dog",
    "elk",
    "fan",
    "gem",
    "hen",
    "ice",
    "jar",
    "kit",
    "log",
    "mud",
    "net",
    "oar",
    "pot",
)
ATTRIBUTES = ("big", "old", "red", "wet", "hot", "far", "new", "raw", "shy", "dry", "odd", "low")
NEEDED = 5
"""The first of the attributes, no two things being alike in all of them."""
START = Start(DemonstrationNoise(needed=0.8), skill=160, steps=60)


def twenty_questions() -> World:
    """Find out which of 32 things somebody thinks of, by asking about 12 attributes, and then say it.

    The table of what is so is invented, and the same for all questions. The first five attributes tell all things
    apart, so that five questions suffice; of the other seven one is said beforehand. A question is the thing with what
    is said of it, and a quarter of them is to test. The expert asks the five in order.

    Returns:
        A world scored by exact match, with the gauge repeated: the share of questions whose answer was known.

    Raises:
        InputError: a count below 1 or another split, when tasks are made.

    Example:
        "raw yes": ask {"about": "big"} is answered "no", four more are asked, and the answer is "owl"
    """
    return World(
        name="twenty_questions",
        tasks=_tasks,
        env=_env,
        correct=exact_match(),
        hidden=("thing",),
        answered=answers_in_words,
        expert=calls_then_answer(_five),
        start=START,
        gauges={"repeated": RatioMetric(_repeated, lambda one, outcome: float(len(one.calls)))},
    )


def is_so(thing: str, attribute: str) -> bool:
    """What the table says of a thing.

    Example:
        the first five attributes of THINGS[6] are the digits of 6, the smallest first: no, yes, yes, no, no
    """
    number, place = THINGS.index(thing), ATTRIBUTES.index(attribute)
    if place < NEEDED:
        return bool(number >> place & 1)
    return derive_seed("twenty_questions", number, place) % 2 == 0


def _tasks(split: Split, count: int, seed: int) -> list[Task]:
    if split not in ("train", "test") or count < 1:
        raise InputError(f"twenty_questions was asked for {count} tasks of {split!r}; give 1 or more, of train or test")
    rng, made = random.Random(derive_seed("twenty_questions", split, seed)), list[Task]()
    while len(made) < count:
        thing, said = rng.choice(THINGS), rng.choice(ATTRIBUTES[NEEDED:])
        if (derive_seed("twenty_questions split", thing, said) % 4 == 0) == (split == "test"):
            text = f"{said} {_word(is_so(thing, said))}"
            facts = {"thing": thing, "said": said}
            made.append(Task(f"{split}-{seed}-{len(made)}", (Message("user", text),), thing, metadata=facts))
    return made


def _env(tools: Sequence[Any]) -> EnvFactory:
    """The environments: the tool that answers, what it answers about hidden in the task, and the tools offered."""
    probe = tool_chat([_asked(THINGS[0]), *tools])

    def make(task: Task) -> Env:
        thing = task.metadata.get("thing")
        if thing not in THINGS:
            raise TaskError(f"task {task.id!r} has {thing!r} as metadata 'thing', which is none of the 32")
        return tool_chat([_asked(str(thing)), *tools])(task)

    return bounded_as(make, probe)


def _asked(thing: str) -> Callable[[], Tool]:
    """Makes the tool that answers about a thing."""

    def make() -> Tool:
        @tool(timeout=None)
        def ask(about: Annotated[str, "an attribute"]) -> str:
            """Say whether it is so.

            Args:
                about: an attribute.
            """
            if about.strip() not in ATTRIBUTES:
                raise Retry(f"ask about one of {', '.join(ATTRIBUTES)}")
            return _word(is_so(thing, about.strip()))

        return ask

    return make


def _word(so: bool) -> str:
    return "yes" if so else "no"


def _five(task: Task, facts: Facts) -> Sequence[ToolCall]:
    del task
    wanted = [ToolCall("ask", {"about": name}) for name in ATTRIBUTES[:NEEDED]]
    return wanted if "ask" in facts["tools"] else ()


def _repeated(one: Trajectory, outcome: float) -> float:
    """How many of an attempt's questions were answered before, or said beforehand."""
    del outcome
    known, count = {str(one.task.metadata["said"])}, 0
    for call in one.calls:
        about = str(call.arguments.get("about", "")).strip()
        count += about in known
        known.add(about)
    return float(count)
