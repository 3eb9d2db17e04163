"""Brief form of ScienceWorld's texts, for a policy with a small context."""

from __future__ import annotations

import re
from collections.abc import Collection

from handaxe.worlds.scienceworld.simulator_process import SceneState

__all__ = ["brief_reply", "brief_task", "brief_view", "room_things"]

REPLY = 60
"""Characters of a reply that is no view."""
UNSEEN = ("agent", "air", "ground")
"""Objects of every place, without use in these tasks."""
NO_NAME = ("nothing", "soil", "which", "On the", "In the")
"""Beginnings of parts of a content that are no things."""


def brief_task(text: str) -> str:
    """Shorten the description of a task: the target of a search, or else the first sentence.

    Example:
        "... Your task is to find a(n) animal. First, focus on the thing. Then, move it to the red box in the kitchen."
        -> "find animal, red box in kitchen"
    """
    said = " ".join(text.split()).removeprefix("Task Description: ").removeprefix("Your task is to ")
    if found := re.match(r"find a\(n\) (.+?)\. .*move it to the (.+?)\.", said):
        return f"find {found[1]}, {found[2].replace(' in the ', ' in ')}"
    return re.sub(r"\bthe |powering it using ", "", said.partition(". ")[0])


def brief_view(look: str) -> str:
    """Shorten the description of a room: its name, things with their contents, and the rooms behind its doors.

    Example:
        a hallway with a picture and an open door to the kitchen -> "hallway: picture; kitchen"
    """
    room = re.search(r"called the (.+?)\.", look)
    inside, _, doors = look.partition("You also see:")
    ways = re.findall(r"\tA door to the (.+?) \(that is (\w+)\)", doors)
    named = ", ".join(name if state == "open" else f"{name} (closed)" for name, state in ways)
    return f"{room[1] if room else ''}: {', '.join(room_things(inside))}; {named}"


def room_things(text: str) -> list[str]:
    """List the things of a description, each with its contents in parentheses."""
    lines = [_thing(line) for line in re.findall(r"^\t(.+)$", text.partition("You also see:")[0], re.MULTILINE)]
    return [line for line in lines if line and line not in UNSEEN]


def _thing(line: str) -> str:
    name = re.match(r"[^,.(]+", line)
    held = re.search(r"\(containing (.*)\)|[Oo]n the [\w ]+ is: (.*)|[Ii]n the [\w ]+ is: (.*)", line)
    things = _content(next(filter(None, held.groups()), "")) if held else []
    return _bare(name[0] if name else line) + (f" ({', '.join(things)})" if things else "")


def _content(text: str) -> list[str]:
    """Names of contained things, each once; contents of contents are left out."""
    flat = re.sub(r"\([^()]*\)", "", text)
    parts = [_bare(re.sub(r" titled .*$", "", part)) for part in re.split(r",|\. ", flat)]
    return list(dict.fromkeys(one for one in parts if one and not one.startswith(NO_NAME)))


def _bare(text: str) -> str:
    """Name without article and stage of life."""
    said = re.sub(r"^(an?|the) ", "", text.strip().rstrip("."), flags=re.IGNORECASE)
    return re.sub(r"^substance called | in the .*$| with .*$", "", said).strip()


def brief_reply(state: SceneState, before: SceneState, action: str, shown: Collection[str]) -> str:
    """Shorten a reply: the room after a move or a look, only its name if `shown` has the same view, else the text."""
    if state.over:
        return "done" if state.score >= 100 else "lost"
    if action == "look around":
        return brief_view(state.look)
    if state.room != before.room:
        return state.room if brief_view(state.look) in shown else brief_view(state.look)
    said = re.sub(r"^You |\bthe |[.:]$", "", " ".join(state.text.split()))
    return said[:REPLY]
