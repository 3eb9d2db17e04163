"""Formats findings as a table and a summary for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from handaxe.doctor.finding import Finding, Level
from handaxe.view.escape_markup import escaped_text
from handaxe.view.fitted_table import FittedTable

__all__ = ["findings_table", "summary"]

STYLES: dict[Level, str] = {"ok": "green", "warning": "yellow", "error": "bold red"}
MAX_CHARACTERS = 700
"""Limit of the shown text of a finding, which may contain a long reply of a tool."""


def findings_table(found: Sequence[Finding], *, title: str) -> Table:
    """Make a table with one row per check: level, finding, and the remedy below the finding."""
    table = FittedTable(title=escaped_text(title), box=SIMPLE_HEAD, title_justify="left", title_style="bold")
    table.add_column("check", no_wrap=True)
    table.add_column("level", no_wrap=True)
    table.add_column("found", overflow="fold")
    for one in found:
        text = escaped_text(one.found, max_chars=MAX_CHARACTERS)
        if one.remedy:
            text.append("\n-> ").append_text(escaped_text(one.remedy, style="italic", max_chars=MAX_CHARACTERS))
        table.add_row(escaped_text(one.check), escaped_text(one.level, style=STYLES[one.level]), text)
    return table


def summary(found: Sequence[Finding]) -> str:
    """Count the findings of each level.

    Example:
        "1 error, 2 warnings, 13 ok"
    """
    counts = Counter[str](one.level for one in found)
    levels = ("error", "warning")
    parts = [f"{counts[name]} {name}{'s' if counts[name] > 1 else ''}" for name in levels if counts[name]]
    return ", ".join([*parts, f"{counts['ok']} ok"])
