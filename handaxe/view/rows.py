"""Rollouts of a run as a table with search, sorting and paging."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from handaxe.training.record.run_record import RunRecord
from handaxe.view.record_search import FoundRow, Where, count, keys, read_found

__all__ = ["COLUMNS", "MOST", "Rows", "table_row"]

COLUMNS = (
    "id", "step", "task", "sample", "outcome", "score", "ending", "reason", "turns", "calls", "tokens", "seconds",
    "cost", "trained", "fate", "final",
)  # fmt: skip
MOST = 1000
"""Row limit of a page."""
FINAL = 120


class Rows:
    """Rollouts of a run.

    Args:
        record: opened for reading.
    """

    def __init__(self, record: RunRecord):
        self.record = record
        self._cached: tuple[Any, ...] = ()
        self._keys: list[int] = []
        self._total = 0

    def page(
        self, where: Where, *, order: str = "step", descending: bool = False, start: int = 0, length: int = 100
    ) -> dict[str, Any]:
        """Rows [start, start + length) of the matching rollouts, sorted.

        Returns:
            "total" and "filtered": numbers of rollouts before and after filtering; "rows": lists in the order of
            COLUMNS.

        Raises:
            InputError: the sort key does not exist.
        """
        found = self.chosen(where, order=order, descending=descending)
        start = max(start, 0)
        wanted = found[start : start + max(0, min(length, MOST))]
        rows = [table_row(one) for one in read_found(self.record, wanted, right=where.right)]
        return {"columns": COLUMNS, "total": self._total, "filtered": len(found), "rows": rows}

    def chosen(self, where: Where, *, order: str = "step", descending: bool = False) -> Sequence[int]:
        """Row numbers of all matching rollouts, sorted; cached until another query or new data of the run."""
        (mark,) = self.record.query("SELECT count(*), total(time) FROM steps")
        query = (where, order, descending, mark)
        if query != self._cached:
            self._keys = keys(self.record, where, order=order, descending=descending)
            self._total = len(self._keys) if where == Where() else count(self.record, Where())
            self._cached = query
        return self._keys

    def adjacent(self, row: int) -> dict[str, int | None]:
        """Numbers of the previous and the next row."""
        query = (
            "SELECT (SELECT max(id) FROM trajectories WHERE id < ?), (SELECT min(id) FROM trajectories WHERE id > ?)"
        )
        ((before, after),) = self.record.query(query, row, row)
        return {"previous": before, "next": after}

    def group_of(self, row: int) -> int:
        """Group number of an existing rollout."""
        ((group,),) = self.record.query("SELECT group_id FROM trajectories WHERE id = ?", row)
        return int(group)

    def in_group(self, group: int) -> list[int]:
        """Row numbers of a group's rollouts, in the order of the group."""
        return [
            row for (row,) in self.record.query("SELECT id FROM trajectories WHERE group_id = ? ORDER BY id", group)
        ]

    def tools(self) -> list[str]:
        """Names of offered tools, sorted."""
        found = {
            tool["name"] for (text,) in self.record.query("SELECT schemas FROM toolsets") for tool in json.loads(text)
        }
        return sorted(map(str, found))


def table_row(one: FoundRow) -> list[Any]:
    """A row of the table, in the order of COLUMNS."""
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
