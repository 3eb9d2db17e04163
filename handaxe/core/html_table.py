"""HTML tables for notebooks. Text of tools, worlds and policies is escaped and never becomes markup or a formula."""

import html
import math
from collections.abc import Iterable, Sequence

from handaxe.core.escape import escape

__all__ = ["html_table"]

PLAIN = "tex2jax_ignore mathjax_ignore"
"""Classes that keep MathJax from reading text between dollar signs."""


def html_table(head: Sequence[str], rows: Iterable[Sequence[object]], *, caption: str = "") -> str:
    """Write a table.

    Args:
        head: a name for each column.
        rows: a text or number for each column. Floats have four significant digits, NaN is an empty cell.
        caption: text above the table, "" for none.

    Example:
        html_table(["metric", "value"], [["<b>", 0.12345]]) has the cells &lt;b&gt; and 0.1235
    """
    title = f'<caption style="text-align: left">{_text(caption)}</caption>' if caption else ""
    names = "".join(f"<th>{_text(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<table class="{PLAIN}">{title}<thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>'


def _text(cell: object) -> str:
    if isinstance(cell, float):
        return "" if math.isnan(cell) else f"{cell:.4g}"
    return html.escape(escape(str(cell)))
