"""Operator of a catalogue server: releases that create, update, rename and delete tools."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from handaxe.core.errors import InputError
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.toolbox.catalogue import ToolEntry

__all__ = ["ServedTools", "rename_entry"]

LONGEST = 56
"""Characters of a name before the number of its release."""


def rename_entry(entry: ToolEntry, name: str, *, note: str = "") -> ToolEntry:
    """Give a tool another name, and append a sentence to its description.

    Example:
        area_circle as "area_circle_r2", note "Release 2."  ->  function and parameters are those of area_circle
    """
    shown = json.loads(entry.shown)
    described = f"{shown['description']} {note}".strip()
    document = {**entry.document, "name": name, "description": described}
    text = json.dumps({**shown, "name": name, "description": described}, separators=(",", ":"), ensure_ascii=False)
    return entry._replace(name=name, document=document, shown=text)


class ServedTools:
    """Tools of a server, in a file that `catalogue_server` reads.

    A release changes a share of the tools: two fifths get another name, as a deletion and a creation; two fifths get
    another description; the rest is deleted, and as many tools of the reserve are created. Needed tools stay.

    Args:
        path: file of the server.
        entries: tools of the first release.
        reserve: further tools.
        needed: functions that stay callable.
        share: of the tools that a release changes, above 0 up to 1.
        seed: of the choices.

    Attributes:
        entries: name -> tool of now.
        release: number of the release, from 1.
    """

    def __init__(
        self,
        path: Path,
        entries: Sequence[ToolEntry],
        reserve: Sequence[ToolEntry],
        *,
        needed: Collection[str],
        share: float,
        seed: int,
    ):
        if not 0 < share <= 1:
            raise InputError(f"a release changes a share of the tools in (0, 1], not {share}")
        self.entries = {entry.name: entry for entry in entries}
        self.release = 1
        self._path = path
        self._reserve = list(reserve)
        self._needed = set(needed)
        self._share = share
        self._rng = random.Random(derive_seed("releases", seed))
        self._write()

    def change(self) -> None:
        """Publish the next release."""
        self.release += 1
        count = max(3, round(self._share * len(self.entries)))
        changed = self._rng.sample(sorted(self.entries), min(count, len(self.entries)))
        renamed, updated = changed[: 2 * count // 5], changed[2 * count // 5 : 4 * count // 5]
        for name in renamed:
            entry = self.entries.pop(name)
            base = name.rpartition("_r")[0] if name.rpartition("_r")[2].isdigit() else name
            new = f"{base[:LONGEST]}_r{self.release}"
            self.entries[new] = rename_entry(entry, new)
        for name in updated:
            self.entries[name] = rename_entry(self.entries[name], name, note=f"Release {self.release}.")
        for name in changed[4 * count // 5 :]:
            if self.entries[name].function not in self._needed and self._reserve:
                gone, new_entry = self.entries.pop(name), self._reserve.pop(0)
                self.entries[new_entry.name] = new_entry
                self._reserve.append(gone)
        self._write()

    def _write(self) -> None:
        tools: list[dict[str, Any]] = [
            {**json.loads(entry.shown), "function": entry.function} for entry in self.entries.values()
        ]
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps(tools))
        os.replace(new, self._path)
