"""Findings as a table for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from handaxe.doctor.finding import Finding, Level
from handaxe.view.escape import plain

__all__ = ["findings_table", "summary"]

STYLES: dict[Level, str] = {"ok": "green", "look": "yellow", "wrong": "bold red"}
ROOM = 700
"""Most characters of a finding that are shown; a tool may have said a great deal."""


def findings_table(found: Sequence[Finding], *, title: str) -> Table:
    """One row a check: its level, what was found, and below it what to do."""
    table = Table(title=plain(title), box=SIMPLE_HEAD, title_justify="left", title_style="bold")
    table.add_column("check", no_wrap=True)
    table.add_column("level", no_wrap=True)
    table.add_column("found", overflow="fold")
    for one in found:
        said = plain(one.found, room=ROOM)
        if one.remedy:
            said.append("\n-> ").append_text(plain(one.remedy, style="italic", room=ROOM))
        table.add_row(plain(one.check), plain(one.level, style=STYLES[one.level]), said)
    return table


def summary(found: Sequence[Finding]) -> str:
    """How many findings are of each level.

    Example:
        "1 wrong, 2 to look at, 13 ok"
    """
    counts = Counter[str](one.level for one in found)
    parts = [f"{counts['wrong']} wrong"] if counts["wrong"] else []
    parts += [f"{counts['look']} to look at"] if counts["look"] else []
    return ", ".join([*parts, f"{counts['ok']} ok"])
