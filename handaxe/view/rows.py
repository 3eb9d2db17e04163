"""The attempts of a run as a table: one question at a time is asked of the record, and scrolled through."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from handaxe.training.record.run_record import RunRecord
from handaxe.view.search import FoundRow, Where, count, keys, read_found

__all__ = ["COLUMNS", "MOST", "Rows", "row_of"]

COLUMNS = (
    "id", "step", "task", "sample", "outcome", "score", "ending", "reason", "turns", "calls", "tokens", "seconds",
    "cost", "trained", "fate", "final",
)  # fmt: skip
MOST = 1000
"""Rows of a page."""
FINAL = 120


class Rows:
    """The attempts of one run.

    Args:
        record: opened for reading.
    """

    def __init__(self, record: RunRecord):
        self.record = record
        self._asked: tuple[Any, ...] = ()
        self._keys: list[int] = []
        self._total = 0

    def page(
        self, where: Where, *, order: str = "step", descending: bool = False, start: int = 0, length: int = 100
    ) -> dict[str, Any]:
        """Rows [start, start + length) of those that fit, sorted.

        Returns:
            "total" and "filtered", how many there are before and after filtering, and "rows", one list in the order of
            COLUMNS each.

        Raises:
            InputError: there is no such order.
        """
        found = self.chosen(where, order=order, descending=descending)
        start = max(start, 0)
        wanted = found[start : start + max(0, min(length, MOST))]
        rows = [row_of(one) for one in read_found(self.record, wanted, right=where.right)]
        return {"columns": COLUMNS, "total": self._total, "filtered": len(found), "rows": rows}

    def chosen(self, where: Where, *, order: str = "step", descending: bool = False) -> Sequence[int]:
        """The rows of all that fit, sorted; kept until something else is asked or the run writes something."""
        (mark,) = self.record.query("SELECT count(*), total(time) FROM steps")
        asked = (where, order, descending, mark)
        if asked != self._asked:
            self._keys = keys(self.record, where, order=order, descending=descending)
            self._total = len(self._keys) if where == Where() else count(self.record, Where())
            self._asked = asked
        return self._keys

    def beside(self, row: int) -> dict[str, int | None]:
        """The rows before and after one."""
        query = (
            "SELECT (SELECT max(id) FROM trajectories WHERE id < ?), (SELECT min(id) FROM trajectories WHERE id > ?)"
        )
        ((before, after),) = self.record.query(query, row, row)
        return {"previous": before, "next": after}

    def group_of(self, row: int) -> int:
        """The group of an attempt, which is there."""
        ((group,),) = self.record.query("SELECT group_id FROM trajectories WHERE id = ?", row)
        return int(group)

    def in_group(self, group: int) -> list[int]:
        """The rows of a group's attempts, in its order."""
        return [
            row for (row,) in self.record.query("SELECT id FROM trajectories WHERE group_id = ? ORDER BY id", group)
        ]

    def tools(self) -> list[str]:
        """The names of the tools that were offered, sorted."""
        found = {
            tool["name"] for (text,) in self.record.query("SELECT schemas FROM toolsets") for tool in json.loads(text)
        }
        return sorted(map(str, found))


def row_of(one: FoundRow) -> list[Any]:
    """A line of the table, in the order of COLUMNS."""
    score = one.score if math.isfinite(one.score) else None
    return [
        one.key,
        one.step,
        one.task,
        one.sample,
        one.outcome,
        score,
        one.ending,
        one.reason,
        one.turns,
        one.calls,
        one.tokens,
        one.seconds,
        one.cost,
        int(one.trained),
        one.fate,
        one.final_text[:FINAL],
    ]
