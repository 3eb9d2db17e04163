"""Table for terminals of any width."""

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

__all__ = ["FittedTable"]

WORDS = 24
"""Width down to which a column of words wraps."""
WIDE = 10_000


class FittedTable(Table):
    """Table, printed as blocks where the terminal is too narrow: a block per row, a line per column.

    A column of numbers, or one that never wraps, needs its full width. A column of words needs `WORDS` characters.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render as a table or as blocks."""
        if self._needed(console, options) <= options.max_width:
            yield from super().__rich_console__(console, options)
        else:
            yield from self._blocks()

    def _needed(self, console: Console, options: ConsoleOptions) -> int:
        wide = options.update(width=WIDE, max_width=WIDE)
        columns = [[Measurement.get(console, wide, cell) for cell in (one.header, *one.cells)] for one in self.columns]
        whole = [max(one.maximum for one in cells) for cells in columns]
        table = super().__rich_measure__(console, wide)
        least = [
            full if _keeps_lines(column) else min(full, max(WORDS, *(one.minimum for one in cells)))
            for column, cells, full in zip(self.columns, columns, whole, strict=True)
        ]
        return table.maximum - sum(whole) + sum(least)

    def _blocks(self) -> Iterator[RenderableType]:
        if self.title:
            yield _text(self.title, "bold")
        rows = zip(*(one.cells for one in self.columns), strict=True)
        for row, (first, *cells) in zip(self.rows, rows, strict=True):
            label, heading = self.columns[0].header, _text(first)
            heading.stylize("bold")
            yield Text()
            yield Text.assemble(_text(label, "bright_black"), " ", heading) if label else heading
            block = Table.grid(padding=(0, 2, 0, 0))
            block.add_column(no_wrap=True, style="bright_black")
            block.add_column(overflow="fold", style=row.style or "")
            for column, cell in zip(self.columns[1:], cells, strict=True):
                value = _text(cell)
                if value.plain.strip():
                    block.add_row(_text("  ").append_text(_text(column.header)), value)
            yield block
        yield Text()
        if self.caption:
            yield _text(self.caption, "bright_black")
            yield Text()


def _keeps_lines(column: Column) -> bool:
    return column.no_wrap or column.justify == "right"


def _text(cell: RenderableType, style: str = "") -> Text:
    found = cell.copy() if isinstance(cell, Text) else Text(str(cell))
    if style and not found.style:
        found.style = style
    return found
