"""Plain-text tables of query results for a small model."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["format_schema", "format_table"]


def format_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, more: bool = False) -> str:
    """Format a header, the rows and their number, cells separated by " | " without padding.

    NULL is NULL, and the text NULL is 'NULL'. A blob is x'0a0b', followed by its size if it is cut. Line breaks,
    control characters, backslashes and | inside a text are escaped, so that a row is a line.

    Args:
        columns: names.
        rows: cells in the format of `handaxe.tools.database.query_worker.answer_query`.
        more: there are further rows.

    Example:
        format_table(["a", "b"], [[1, None], [2.5, "x"]]) is "a | b\\n1 | NULL\\n2.5 | x\\n(2 rows)".
    """
    lines = [" | ".join(_escape(name) for name in columns)]
    lines += [" | ".join(_cell(value) for value in row) for row in rows]
    if more:
        lines.append(f"(the first {len(rows)} rows; there are more)")
    else:
        lines.append(f"({len(rows)} row{'' if len(rows) == 1 else 's'})")
    return "\n".join(lines)


def format_schema(schema: Sequence[tuple[str, Sequence[tuple[str, str]]]]) -> str:
    """Format a line for each table: name, then columns with types.

    Example:
        format_schema([("town", [("name", "TEXT"), ("year", "INTEGER")])]) is "town(name TEXT, year INTEGER)".
    """
    lines = []
    for name, columns in schema:
        described = ", ".join(_escape(f"{column} {kind}".strip()) for column, kind in columns)
        lines.append(f"{_escape(name)}({described})")
    return "\n".join(lines) or "there are no tables"


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, Mapping):
        whole = 2 * value["size"] == len(value["blob"])
        return f"x'{value['blob']}'" if whole else f"x'{value['blob']}...' ({value['size']} bytes)"
    text = _escape(str(value))
    return f"'{text}'" if isinstance(value, str) and text == "NULL" else text


def _escape(text: str) -> str:
    text = text.replace("\\", "\\\\").replace("|", "\\|")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
