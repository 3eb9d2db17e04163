"""Twenty Questions: identify an unknown thing by yes-no questions about attributes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from handaxe.core.errors import InputError, Retry, TaskError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.exact_match import exact_match
from handaxe.tools.decorator import Tool, tool
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["ATTRIBUTES", "THINGS", "has_attribute", "twenty_questions"]

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
"""Number of leading attributes with distinct values for all things."""
START = Start(DemonstrationNoise(call_rate=0.8), skill=160, steps=60)


def twenty_questions() -> World:
    """Identify 1 of 32 things by questions about 12 attributes.

    The table of attributes is invented and constant. The first five attributes distinguish all things, so five
    questions suffice; the task reveals one of the other seven. A task is a thing with a revealed attribute, and a
    quarter of the tasks is in test. The expert asks the five attributes in order.

    Returns:
        A world scored by exact match, with the gauge repeated: the share of questions with a known answer.

    Raises:
        InputError: count below 1 or another split, when tasks are made.

    Example:
        "raw yes": ask {"about": "big"} returns "no", four more questions follow, and the answer is "owl"

    Paper: arXiv:2402.19446 (ArCHer), its task Twenty Questions.
    Differs: a table of 32 things and 12 attributes answers, instead of a language model about words.
    """
    return World(
        name="twenty_questions",
        tasks=_tasks,
        env=_env,
        correct=exact_match(),
        hidden_keys=("thing",),
        is_answer=is_text_answer,
        expert=calls_then_answer(_five),
        start=START,
        gauges={"repeated": RatioMetric(_repeated, lambda one, outcome: float(len(one.calls)))},
    )


def has_attribute(thing: str, attribute: str) -> bool:
    """Look up an attribute of a thing.

    Example:
        the first five attributes of THINGS[6] are the binary digits of 6, lowest first: no, yes, yes, no, no
    """
    number, place = THINGS.index(thing), ATTRIBUTES.index(attribute)
    if place < NEEDED:
        return bool(number >> place & 1)
    return derive_seed("twenty_questions", number, place) % 2 == 0


def _tasks(split: Split, count: int, seed: int) -> list[Task]:
    if split not in ("train", "test") or count < 1:
        raise InputError(f"twenty_questions has no {count} tasks of {split!r}; give 1 or more, of train or test")
    rng, made = random.Random(derive_seed("twenty_questions", split, seed)), list[Task]()
    while len(made) < count:
        thing, said = rng.choice(THINGS), rng.choice(ATTRIBUTES[NEEDED:])
        if content_split("twenty_questions split", thing, said) == split:
            text = f"{said} {_word(has_attribute(thing, said))}"
            facts = {"thing": thing, "said": said}
            made.append(Task(f"{split}-{seed}-{len(made)}", (Message("user", text),), thing, metadata=facts))
    return made


def _env(tools: Sequence[Any]) -> EnvFactory:
    """Environments: a tool for the task's hidden thing, and the offered tools."""
    probe = tool_chat([_ask_tool(THINGS[0]), *tools])

    def make(task: Task) -> Env:
        thing = task.metadata.get("thing")
        if thing not in THINGS:
            raise TaskError(f"task {task.id!r} has {thing!r} as metadata 'thing', which is none of the 32")
        return tool_chat([_ask_tool(str(thing)), *tools])(task)

    return inherit_bound(make, probe)


def _ask_tool(thing: str) -> Callable[[], Tool]:
    """Factory of the tool for a thing."""

    def make() -> Tool:
        @tool(timeout=None)
        def ask(about: Annotated[str, "an attribute"]) -> str:
            """Say whether it is so.

            Args:
                about: an attribute.
            """
            if about.strip() not in ATTRIBUTES:
                raise Retry(f"ask about one of {', '.join(ATTRIBUTES)}")
            return _word(has_attribute(thing, about.strip()))

        return ask

    return make


def _word(so: bool) -> str:
    return "yes" if so else "no"


def _five(task: Task, facts: Facts) -> Sequence[ToolCall]:
    del task
    wanted = [ToolCall("ask", {"about": name}) for name in ATTRIBUTES[:NEEDED]]
    return wanted if "ask" in facts["tools"] else ()


def _repeated(one: Trajectory, outcome: float) -> float:
    """Number of questions of a rollout with a known answer."""
    del outcome
    known, count = {str(one.task.metadata["said"])}, 0
    for call in one.calls:
        about = str(call.arguments.get("about", "")).strip()
        count += about in known
        known.add(about)
    return float(count)
