"""A table that fills from many sides and is emptied by many: the data plane of a streamed step.

A row is a sample, a column is something known of it (what was played, its score, its log-probs). A stage declares the
columns it needs and gets rows as soon as these are there, each row once. So no stage waits for the whole of the one
before it, and none need know of the others.

Paper: AsyncFlow, arXiv:2507.01663, TransferQueue.
Differs: one storage in this process, where the paper shards rows over storage units; `get` does not block, since
its caller has other work; `in_order` is ours.
"""

from collections.abc import Collection, Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple

from handaxe.core.errors import InputError

__all__ = ["Fetched", "TransferQueue"]


class Fetched(NamedTuple):
    """A row's place in the table and the cells that were asked for, by column."""

    place: int
    cells: Mapping[str, Any]


class TransferQueue:
    """Rows x columns, with a read position per consumer. Thread-safe.

    Args:
        columns: the names of all columns.

    Example:
        rows 0..3 with {resp, old} ready in all, adv ready in 0 and 2:
        get("train", ["resp", "old", "adv"], 2) -> rows 0, 2; get(..., 1) -> none; put adv of row 1; get -> row 1
    """

    def __init__(self, columns: Collection[str]):
        self._cells: dict[str, dict[int, Any]] = {name: {} for name in columns}
        self._rows: set[int] = set()
        self._given: dict[str, set[int]] = {}
        self._lock = Lock()

    def add(self, rows: Collection[int]) -> None:
        """Declare rows.

        Raises:
            InputError: a row that is there already.
        """
        with self._lock:
            if twice := sorted(self._rows.intersection(rows)):
                raise InputError(f"rows {twice} are in the queue already; a row is added once")
            self._rows.update(rows)

    def put(self, column: str, cells: Mapping[int, Any]) -> None:
        """Write cells of a column.

        Raises:
            InputError: a column or row that was not declared; a cell that is written already, which some consumer
                may have had.
        """
        with self._lock:
            self._check([column])
            if unknown := sorted(cells.keys() - self._rows):
                raise InputError(f"rows {unknown} are not in the queue: add them first")
            if twice := sorted(cells.keys() & self._cells[column].keys()):
                raise InputError(f"{column!r} of rows {twice} is written already; a cell is written once")
            self._cells[column].update(cells)

    def get(self, consumer: str, columns: Sequence[str], n: int, *, in_order: bool = False) -> list[Fetched]:
        """The next `n` rows whose columns are all written and which this consumer has not had; the lowest place first.

        Args:
            consumer: who asks; its account is opened at the first call.
            columns: what it needs.
            n: rows, >= 1.
            in_order: give a row only after all declared rows below it were given; for stages that remember.

        Returns:
            Exactly `n` of them, or nothing as long as fewer are ready.

        Raises:
            InputError: an undeclared column, or n < 1.
        """
        if n < 1:
            raise InputError(f"get was asked for {n} rows; ask for 1 or more")
        with self._lock:
            self._check(columns)
            given = self._given.setdefault(consumer, set())
            ready = self._ready(columns, given, in_order)[:n]
            if len(ready) < n:
                return []
            given.update(ready)
            return [Fetched(row, {name: self._cells[name][row] for name in columns}) for row in ready]

    def __len__(self) -> int:
        """How many rows are declared."""
        return len(self._rows)

    def _check(self, columns: Sequence[str]) -> None:
        if unknown := sorted(set(columns) - self._cells.keys()):
            raise InputError(f"the queue has no columns {unknown}; it has {', '.join(self._cells)}")

    def _ready(self, columns: Sequence[str], given: set[int], in_order: bool) -> list[int]:
        out = []
        for row in sorted(self._rows - given):
            if all(row in self._cells[name] for name in columns):
                out.append(row)
            elif in_order:
                break
        return out
