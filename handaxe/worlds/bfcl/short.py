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
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import Split

__all__ = ["tasks"]

FUNCTIONS = ("cd", "mkdir", "rm", "touch")
TICKETS = ("close_ticket", "logout")
AGENT = "1"
"""User of the ticket system until the logout."""
OPEN_TICKETS = 2
TICKET_SHARE = 0.5


class _Folder(NamedTuple):
    """Content of the current folder."""

    files: list[str]
    folders: list[str]


class _Desk(NamedTuple):
    """Open tickets, and whether the user is logged in."""

    open: list[int]
    logged_in: bool


class _Request(NamedTuple):
    said: str
    name: str
    arguments: dict[str, Any]


def tasks(*, split: Split, count: int, seed: int, longest: int = 2, tickets: bool = False) -> list[Task]:
    """Create tasks of creating, opening and deleting files and folders, one request per turn of the user.

    A task has `longest` // 2 to `longest` turns of the user. With `tickets` half of the requests, if possible, close a
    ticket or end the session of a second simulator, so that the reference state has four attributes.

    Simulator and rule are BFCL's for multi-turn categories. Names of train and test are disjoint.

    Args:
        split: train or test.
        count: number of tasks, >= 1.
        seed: equal seeds give equal tasks; the first k tasks are independent of count.
        longest: maximum turns of the user, >= 1.
        tickets: use the ticket system too.

    Raises:
        TaskError: count below 1.

    Example:
        "Make folder 417.", then "Delete file 93."  ->  mkdir(417), then rm(93)
        with tickets "Close ticket 51.", then "Log out."  ->  close_ticket(51), then logout()
    """
    if count < 1:
        raise TaskError(f"a data set of {count} tasks is empty; give a count of 1 or more")
    return [_task(number, seed, split, longest, tickets) for number in range(count)]


def _task(number: int, seed: int, split: Split, longest: int, tickets: bool) -> Task:
    rng = random.Random(derive_seed("bfcl short", seed, split, number))
    names = _names(rng, split, max(8, longest + 3) + OPEN_TICKETS * tickets)
    desk = _Desk([int(names.pop()) for _ in range(OPEN_TICKETS)] if tickets else [], tickets)
    queue = [{"id": one, "title": "", "description": "", "status": "Open", "priority": 1} for one in desk.open]
    here = _Folder([names.pop(), names.pop()], [names.pop()])
    contents: dict[str, Any] = {name: {"type": "file", "content": ""} for name in here.files}
    contents |= {name: {"type": "directory", "contents": {}} for name in here.folders}
    requests = []
    for _ in range(rng.randint(max(1, longest // 2), longest)):
        if tickets and (desk.open or desk.logged_in) and rng.random() < TICKET_SHARE:
            request, desk = _ticket_request(rng, desk)
        else:
            request, here = _request(rng, names, here)
        requests.append(request)
    said = [one.said for one in requests]
    config: dict[str, Any] = {"GorillaFileSystem": {"root": {"home": {"type": "directory", "contents": contents}}}}
    if tickets:
        config["TicketAPI"] = {"ticket_queue": queue, "current_user": AGENT}
    metadata = {
        "category": "short",
        "number": number,
        "classes": ["GorillaFileSystem", "TicketAPI"][: 1 + tickets],
        "functions": [*FUNCTIONS, *TICKETS * tickets],
        "config": config,
        "later": [[text] for text in said[1:]],
        "held_back": {},
        "gold": [[{"name": one.name, "arguments": one.arguments}] for one in requests],
    }
    answer = [[f"{one.name}({', '.join(map(str, one.arguments.values()))})"] for one in requests]
    kind = "short-tickets" if tickets else "short"
    return Task(f"{kind}-{split}-{seed}-{number}", (Message("user", said[0]),), answer, None, metadata)


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


def _ticket_request(rng: random.Random, desk: _Desk) -> tuple[_Request, _Desk]:
    """A possible request to the ticket system, and the system afterwards."""
    kind = rng.choice(["close_ticket"] * bool(desk.open) + ["logout"] * desk.logged_in)
    if kind == "logout":
        return _Request("Log out.", kind, {}), desk._replace(logged_in=False)
    number = rng.choice(desk.open)
    left = [one for one in desk.open if one != number]
    return _Request(f"Close ticket {number}.", kind, {"ticket_id": number}), desk._replace(open=left)


def _names(rng: random.Random, split: Split, count: int) -> list[str]:
    """Distinct names of a split."""
    found: list[str] = []
    while len(found) < count:
        name = str(rng.randrange(10, 1000))
        if name not in found and content_split("bfcl short name", name) == split:
            found.append(name)
    return found
