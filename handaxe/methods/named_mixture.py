"""World `mixture` of the command line: worlds by name, with options in the grammar of the command line.

    --world mixture --world.parts sum "arithmetic --easy 0.2" shop "jsonl --file shop.jsonl"
                    --world.weights sum 3 shop 1

Kept: several files, or a file and a generated world, in one run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from handaxe.core.errors import InputError
from handaxe.methods.flags import flag, list_options, parse_words
from handaxe.methods.lookup import find
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.mixture import mixture as mix
from handaxe.worlds.world import Split, World

__all__ = ["mixture", "replace_paths"]

NAME = re.compile(r"\w[\w-]*")


def mixture(*, parts: dict[str, str], weights: dict[str, int] | None = None) -> World:
    """Several worlds, mixed by weight; evaluations are broken down by part.

    Args:
        parts: name of each part, and its world with options without the prefix --world, such as "jsonl --file a.jsonl".
        weights: tasks of each named part in a cycle, >= 1; by default 1 each.

    Returns:
        `worlds.mixture` of the worlds. The seed of each part is derived from the name of the part.

    Raises:
        InputError: a world does not exist, an option does not fit, a weight is out of range, or two parts hold out
            different shares of questions, so that a question could be in both splits.

    Example:
        mixture(parts={"a": "jsonl --file a.jsonl", "b": "jsonl --file b.jsonl"}, weights={"a": 3, "b": 1})
    """
    for name in parts:
        if not NAME.fullmatch(name):
            raise InputError(f"part {name!r} has no name of letters, digits and _; write NAME and WORLD in turn")
    options = {name: _options(name, words) for name, words in parts.items()}
    shares = {name: given["test_share"] for name, given in options.items() if "test_share" in given}
    if len(set(shares.values())) > 1:
        shown = ", ".join(f"{name} {share:g}" for name, share in shares.items())
        raise InputError(f"the parts hold out different shares of questions ({shown}); give one --test-share to all")
    worlds = {name: _seeded(name, _world(words, options[name])) for name, words in parts.items()}
    return mix(worlds, weights=weights)


def replace_paths(options: Mapping[str, Any], files: Mapping[str, str]) -> dict[str, Any]:
    """Replace paths in the options of a world.

    Args:
        options: of the world.
        files: option -> path, or "parts.PART.OPTION" -> path for an option of a part. Keys without such an option are
            ignored: a world of the user's own may read files by other means.

    Example:
        replace_paths({"parts": {"a": "jsonl --file a.jsonl"}}, {"parts.a.file": "runs/x/inputs/0/a.jsonl"})
        -> {"parts": {"a": "jsonl --file runs/x/inputs/0/a.jsonl"}}
    """
    found = dict(options)
    for key, path in files.items():
        if key in found:
            found[key] = path
            continue
        whole, _, rest = key.partition(".")
        part, _, option = rest.partition(".")
        if isinstance(found.get(whole), Mapping) and part in found[whole]:
            words = _replaced(shlex.split(found[whole][part]), flag(option), path)
            found[whole] = {**found[whole], part: shlex.join(words)}
    return found


def _options(name: str, words: str) -> dict[str, Any]:
    """Options of a part, with the default of the share of held-out questions."""
    world, *rest = _split(name, words)
    if world == "mixture":
        raise InputError(f"part {name!r} is a mixture; name its parts in the outer mixture")
    factory = find("worlds", world)
    given = parse_words(factory, rest, command=f"part {name}: {words}", required=True)
    defaults = {one.name: one.default for one in list_options(factory)}
    return {key: given.get(key, defaults[key]) for key in {*given, *({"test_share"} & defaults.keys())}}


def _world(words: str, options: Mapping[str, Any]) -> World:
    name = shlex.split(words)[0]
    found = find("worlds", name)(**options)
    if not isinstance(found, World):
        raise InputError(f"world {name} returns {type(found).__name__} and not a World")
    return found


def _split(name: str, words: str) -> list[str]:
    try:
        found = shlex.split(words)
    except ValueError as error:
        raise InputError(f"part {name!r}, {words!r:.80}, does not parse: {error}") from error
    if not found:
        raise InputError(f"part {name!r} names no world; write NAME and WORLD in turn, such as sum arithmetic")
    return found


def _seeded(name: str, world: World) -> World:
    """The world with a seed derived from the name, since ids of tasks may consist of split, seed and number."""

    def tasks(split: Split, count: int, seed: int) -> list[Any]:
        return world.tasks(split, count, derive_seed("mixture", name, seed))

    return replace(world, tasks=tasks)


def _replaced(words: list[str], name: str, value: str) -> list[str]:
    """The words with another value of an option."""
    for k, word in enumerate(words):
        if word.partition("=")[0].replace("_", "-") == name:
            return [*words[:k], name, value, *words[k + (1 if "=" in word else 2) :]]
    return [*words, name, value]
