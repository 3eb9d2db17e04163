"""Brief tasks for the tiny policy: functions of numbers under short names, found by a number as key word."""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.records import Task
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.bfcl.notation import NOTATIONS
from handaxe.worlds.toolbox.catalogue import Catalogue, ToolEntry, function_split, read_schemas
from handaxe.worlds.toolbox.questions import build_task, make_step
from handaxe.worlds.world import Split

__all__ = ["brief_catalogue", "brief_tasks"]

PREVIOUS = "*"
"""Sign for the previous result."""


@functools.lru_cache(maxsize=1)
def brief_catalogue() -> Catalogue:
    """Return the catalogue of brief tools: functions whose one or two required parameters are numbers.

    Texts have numbers instead of words, since the tiny policy copies digits, and did not learn to copy words: a tool is
    indexed by a key of four digits, its name is t and three digits, and its parameters are a and b.

    Example:
        geometry.area_circle(radius) may have the key 5526 and the search result "t417 a".
    """
    numeric = {entry.function: entry for entry in reversed(read_schemas()) if _is_numeric(entry)}
    rng = random.Random(derive_seed("toolbox brief names"))
    names, keys = rng.sample(range(100, 1000), len(numeric)), rng.sample(range(1000, 10_000), len(numeric))
    return Catalogue([_entry(f"t{name}", str(key), one) for name, key, one in zip(names, keys, numeric.values())])


def brief_tasks(catalogue: Catalogue, *, lengths: Sequence[int], split: Split, count: int, seed: int) -> list[Task]:
    """Create chains of brief calls: "5526 25, 1390 * 7" asks for 1390 of the result of 5526 of 25 and of 7.

    Args:
        catalogue: result of `brief_catalogue`.
        lengths: calls of a chain, drawn evenly.
        split, count, seed: as for `World.tasks`.
    """
    mine = [one for one in catalogue.entries.values() if function_split(one.function) == split]
    return [_task(mine, lengths, split, seed, number) for number in range(count)]


def _task(tools: Sequence[ToolEntry], lengths: Sequence[int], split: Split, seed: int, number: int) -> Task:
    rng = random.Random(derive_seed("toolbox brief", split, seed, number))
    parts: list[str] = []
    steps: list[dict[str, Any]] = []
    for tool in rng.sample(tools, rng.choice(lengths)):
        parameters = list(tool.document["parameters"]["properties"])
        arguments = {one: rng.randrange(10, 100) for one in parameters}
        words = {one: str(value) for one, value in arguments.items()}
        if steps:
            chained = rng.choice(parameters)
            arguments[chained], words[chained] = steps[-1]["value"], PREVIOUS
        accepted = {one: [value] for one, value in arguments.items()}
        steps.append(make_step(tool.name, tool.function, tool.category, accepted, arguments, tool.text))
        parts.append(" ".join([tool.text, *words.values()]))
    return build_task(f"toolbox-brief-{split}-{seed}-{number}", ", ".join(parts), steps, steps[-1:])


def _is_numeric(entry: ToolEntry) -> bool:
    properties = entry.document["parameters"]["properties"]
    required = entry.document["parameters"].get("required", ())
    return (
        entry.category not in NOTATIONS
        and 1 <= len(required) <= 2
        and all(properties[one]["type"] in ("integer", "float") for one in required)
    )


def _entry(name: str, key: str, entry: ToolEntry) -> ToolEntry:
    parameters: Mapping[str, Any] = entry.document["parameters"]
    aliases = list("ab"[: len(parameters["required"])])
    properties = {
        alias: {"type": parameters["properties"][one]["type"]} for alias, one in zip(aliases, parameters["required"])
    }
    document = {
        "name": name,
        "description": entry.document["description"],
        "parameters": {"type": "dict", "properties": properties, "required": aliases},
    }
    return ToolEntry(name, entry.function, document, entry.category, key, " ".join([name, *aliases]))
