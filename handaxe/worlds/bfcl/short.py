"""Short tasks on BFCL's simulated file system, for a policy with 512 bytes of context: four functions and a few words.

Names are numbers, which the tiny policy can copy without training; with a usual number of steps it does not learn to
copy invented words.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

from handaxe.core.errors import TaskError
from handaxe.core.records import Message, Task
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.world import Split

__all__ = ["tasks"]

FUNCTIONS = ("cd", "mkdir", "rm", "touch")


class _Folder(NamedTuple):
    """Content of the current folder."""

    files: list[str]
    folders: list[str]


class _Request(NamedTuple):
    said: str
    name: str
    arguments: dict[str, str]


def tasks(*, split: Split, count: int, seed: int, longest: int = 2) -> list[Task]:
    """Create tasks of creating, opening and deleting files and folders, one request per turn of the user.

    A task has `longest` // 2 to `longest` turns of the user.

    Simulator and rule are BFCL's for multi-turn categories. Names of train and test are disjoint.

    Args:
        split: train or test.
        count: number of tasks, >= 1.
        seed: equal seeds give equal tasks; the first k tasks are independent of count.
        longest: maximum turns of the user, >= 1.

    Raises:
        TaskError: count below 1.

    Example:
        "Make folder 417.", then "Delete file 93."  ->  mkdir(417), then rm(93)
    """
    if count < 1:
        raise TaskError(f"a data set of {count} tasks is empty; give a count of 1 or more")
    return [_task(number, seed, split, longest) for number in range(count)]


def _task(number: int, seed: int, split: Split, longest: int) -> Task:
    rng = random.Random(derive_seed("bfcl short", seed, split, number))
    names = _names(rng, split, max(8, longest + 3))
    here = _Folder([names.pop(), names.pop()], [names.pop()])
    contents: dict[str, Any] = {name: {"type": "file", "content": ""} for name in here.files}
    contents |= {name: {"type": "directory", "contents": {}} for name in here.folders}
    requests = []
    for _ in range(rng.randint(max(1, longest // 2), longest)):
        request, here = _request(rng, names, here)
        requests.append(request)
    said = [one.said for one in requests]
    metadata = {
        "category": "short",
        "number": number,
        "classes": ["GorillaFileSystem"],
        "functions": list(FUNCTIONS),
        "config": {"GorillaFileSystem": {"root": {"home": {"type": "directory", "contents": contents}}}},
        "later": [[text] for text in said[1:]],
        "held_back": {},
        "gold": [[{"name": one.name, "arguments": one.arguments}] for one in requests],
    }
    answer = [[f"{one.name}({', '.join(one.arguments.values())})"] for one in requests]
    return Task(f"short-{split}-{seed}-{number}", (Message("user", said[0]),), answer, None, metadata)


def _request(rng: random.Random, names: list[str], here: _Folder) -> tuple[_Request, _Folder]:
    """A possible request in a folder, and the folder afterwards."""
    kinds = ["mkdir", "touch"] + ["rm"] * bool(here.files) + ["cd"] * bool(here.folders)
    kind = rng.choice(kinds)
    if kind == "mkdir":
        name = names.pop()
        return _Request(f"Make folder {name}.", kind, {"dir_name": name}), here._replace(folders=[*here.folders, name])
    if kind == "touch":
        name = names.pop()
        return _Request(f"Create file {name}.", kind, {"file_name": name}), here._replace(files=[*here.files, name])
    if kind == "cd":
        name = rng.choice(here.folders)
        return _Request(f"Open folder {name}.", kind, {"folder": name}), _Folder([], [])
    name = rng.choice(here.files)
    left = here._replace(files=[one for one in here.files if one != name])
    return _Request(f"Delete file {name}.", kind, {"file_name": name}), left


def _names(rng: random.Random, split: Split, count: int) -> list[str]:
    """Distinct names of a split."""
    found: list[str] = []
    while len(found) < count:
        name = str(rng.randrange(10, 1000))
        if name not in found and (derive_seed("bfcl short name", name) % 4 == 0) == (split == "test"):
            found.append(name)
    return found
