"""Search for a repair: functions of the failing test by suspicion, and single-token edits in order."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from handaxe.worlds.repair.source import Edit, Function, candidates, change, containing, replace_token
from handaxe.worlds.repair.tasks import Module, Source, make_runner, module_source

__all__ = [
    "BRIEF_WINDOW",
    "Found",
    "LISTED",
    "PROSE_WINDOW",
    "edits",
    "replace_row",
    "search_repair",
    "spectrum",
    "suspects",
    "windows",
]

LISTED = 8
"""Most functions that the tool `list` names."""
BRIEF_WINDOW = 8
PROSE_WINDOW = 40
"""Most lines of a reading."""


class Found(NamedTuple):
    """Outcome of a search: readings of the brief form, replacements, and whether all tests pass."""

    reads: int
    tries: int
    passed: bool


@functools.lru_cache(maxsize=512)
def spectrum(module: Module) -> Counter[str]:
    """Number of calling tests of each function of the original module."""
    source = module_source(module.package, module.version, module.name, module.digest)
    traced = make_runner(module.package).run(module.name, module.tests, module.names, trace=True)
    return Counter(name for calls in traced.calls for name in {one.name for one in _functions(source, calls)})


def suspects(module: Module, source: Source, calls: Sequence[int]) -> list[Function]:
    """Order the functions called by a failing test: by number of calling tests, then by first call."""
    known = spectrum(module)
    return sorted(_functions(source, calls), key=lambda one: known[one.name])[:LISTED]


def _functions(source: Source, calls: Sequence[int]) -> list[Function]:
    """The functions of a traced test; nested functions count as the outer function."""
    found = [containing(source.functions, line) for line in calls]
    return list(dict.fromkeys(one for one in found if one is not None))


def replace_row(rows: Sequence[str], line: int, row: str) -> tuple[str, ...]:
    """Copy of the lines with another text in line `line`."""
    return (*rows[: line - 1], row, *rows[line:])


def edits(functions: Sequence[Function], rows: Sequence[str]) -> Iterator[tuple[Function, Edit]]:
    """All edits of functions, in the expert's order."""
    for function in functions:
        for edit in candidates(function, rows):
            yield function, edit


def windows(functions: Sequence[Function], edit: Edit, *, brief: bool) -> list[Sequence[int]]:
    """Readings before an edit, in short pieces: earlier functions, and the edited function up to the edited line.

    Example:
        an edit in the tenth line of the first function -> its lines 1 to 8, and 9 to 16
    """
    found: list[Sequence[int]] = []
    size = BRIEF_WINDOW if brief else PROSE_WINDOW
    for function in functions:
        lines = function.lines if brief else range(function.lines[0], function.last + 1)
        for start in range(0, len(lines), size):
            found.append(lines[start : start + size])
            if edit.line in found[-1]:
                return found
    return found


def search_repair(module: Module, source: Source, rows: Sequence[str], shown: str, *, most: int) -> Found | None:
    """Search as the expert does; None if no edit passes the shown test within `most` replacements, or a run is cut."""
    run = make_runner(module.package)
    changed = [one for one in source.functions if any(rows[n - 1] != source.rows[n - 1] for n in one.lines)]
    traced = run.run(module.name, module.tests, [shown], change(changed, rows), trace=True)
    listed = suspects(module, source, traced.calls[0])
    for tries, (function, edit) in enumerate(edits(listed, rows), 1):
        if tries > most:
            return None
        row = replace_token(rows[edit.line - 1], edit)
        assert row is not None, "the token was found in this line"
        new = replace_row(rows, edit.line, row)
        touched = list(dict.fromkeys([*changed, function]))
        result = run.run(module.name, module.tests, [shown], change(touched, new))
        if result.error in ("Timeout", "Crash"):
            return None
        if not result.failed:
            passed = not run.run(module.name, module.tests, module.names, change(touched, new)).failed
            return Found(len(windows(listed, edit, brief=True)), tries, passed)
    return None
