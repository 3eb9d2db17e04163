"""Functions of a module's source, and edits of single tokens."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from handaxe.worlds.repair.runner import ChangedSource

__all__ = ["Edit", "Function", "candidates", "change", "containing", "read_functions", "replace_token", "statement"]

ALTERNATIVES = {
    "<": ("<=", ">"),
    "<=": ("<", ">="),
    ">": (">=", "<"),
    ">=": (">", "<="),
    "==": ("!=",),
    "!=": ("==",),
    "in": ("not in",),
    "not in": ("in",),
    "is": ("is not",),
    "is not": ("is",),
    "and": ("or",),
    "or": ("and",),
    "+": ("-",),
    "-": ("+",),
    "*": ("/",),
    "/": ("*",),
    "//": ("%",),
    "%": ("//",),
    "|": ("&",),
    "&": ("|",),
    "+=": ("-=",),
    "-=": ("+=",),
    "*=": ("/=",),
    "/=": ("*=",),
    "|=": ("&=",),
    "&=": ("|=",),
    "True": ("False",),
    "False": ("True",),
}
"""Token -> replacements. Integers n from 0 to 99 become n + 1 and n - 1. The relation is symmetric, so that the
replacements of a faulty line contain the original.
"""
OPERATORS = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.And: "and",
    ast.Or: "or",
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitOr: "|",
    ast.BitAnd: "&",
}
MOST = 99
TOKEN = re.compile(
    r"[A-Za-z_]\w*|\d+(?:\.\d+)?|\"[^\"]*\"|'[^']*'|//=?|\*\*=?|<<=?|>>=?|[-+*/%&|^<>=!:]=|->|[^\s\w]", re.ASCII
)
"""Tokens of a line; pairs such as "not in" are joined by `_tokens`."""
PAIRS = (("not", "in"), ("is", "not"))


class Function(NamedTuple):
    """Function of a module, or method of a class of the module.

    name: qualified. first, last: its lines, decorators included, from 1. owner: name of the class, or "". lines: lines
    with code, from `def` on, without docstring, comments and empty lines. body: first line of the body.
    """

    name: str
    first: int
    last: int
    owner: str
    lines: tuple[int, ...]
    body: int


class Edit(NamedTuple):
    """Token of a line to replace: line from 1, number of the occurrence from 1, old and new token."""

    line: int
    occurrence: int
    old: str
    new: str


def read_functions(text: str) -> tuple[Function, ...]:
    """Read the functions of a module and the methods of its classes, in the order of the file."""
    found, rows = [], text.split("\n")
    for node in ast.parse(text).body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        owner = node.name if isinstance(node, ast.ClassDef) else ""
        for one in inner:
            if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found.append(_function(one, owner, rows))
    return tuple(found)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, owner: str, rows: Sequence[str]) -> Function:
    doc = node.body[0] if ast.get_docstring(node, clean=False) is not None else None
    body = node.body[1:] if doc is not None else node.body
    skipped = set(range(doc.lineno, (doc.end_lineno or 0) + 1)) if doc is not None else set()
    last = node.end_lineno or node.lineno
    lines = tuple(
        n
        for n in range(node.lineno, last + 1)
        if n not in skipped and rows[n - 1].strip() and not rows[n - 1].lstrip().startswith("#")
    )
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    name = f"{owner}.{node.name}" if owner else node.name
    start = body[0].lineno if body else last + 1
    return Function(name, first, last, owner, lines, start if start > node.lineno else node.lineno + 1)


def containing(functions: Sequence[Function], line: int) -> Function | None:
    """Find the function around a line of the file."""
    return next((one for one in functions if one.first <= line <= one.last), None)


def statement(function: Function, rows: Sequence[str]) -> tuple[str, int]:
    """Source of a function, of a method within a class of the owner's name, and the first line of this source."""
    source = "\n".join(rows[function.first - 1 : function.last])
    if function.owner:
        return f"class {function.owner}:\n{source}", function.first - 1
    return source, function.first


def change(functions: Sequence[Function], rows: Sequence[str]) -> list[ChangedSource]:
    """Describe edited functions to a runner."""
    return [ChangedSource(*statement(one, rows), (one.name,)) for one in functions]


def candidates(function: Function, rows: Sequence[str]) -> list[Edit]:
    """Single-token edits of a function's body, by line, position and replacement; [] if the source is no Python.

    Example:
        "    return a < 1" -> < to <=, < to >, 1 to 2, 1 to 0
    """
    source, first = statement(function, rows)
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    found = []
    for line, place, old in set(_sites(tree, source.split("\n"), first)):
        if line >= function.body:
            tokens = _tokens(rows[line - 1])
            same = [start for start, token in tokens if token == old]
            if place in same:
                found.append((line, place, same.index(place) + 1, old))
    return [Edit(line, nth, old, new) for line, _, nth, old in sorted(found) for new in _alternatives(old)]


def replace_token(row: str, edit: Edit) -> str | None:
    """Replace a token of a line; None if the line lacks the token."""
    same = [start for start, token in _tokens(row) if token == edit.old]
    if not 1 <= edit.occurrence <= len(same):
        return None
    start = same[edit.occurrence - 1]
    length = len(edit.old) if row.startswith(edit.old, start) else _pair_length(row, start)
    return row[:start] + edit.new + row[start + length :]


def _alternatives(old: str) -> tuple[str, ...]:
    if old.isdigit():
        value = int(old)
        return tuple(str(one) for one in (value + 1, value - 1) if 0 <= one <= MOST)
    return ALTERNATIVES[old]


def _tokens(row: str) -> list[tuple[int, str]]:
    """(start, token) of a line; "not in" and "is not" are one token."""
    plain = [(match.start(), match.group()) for match in TOKEN.finditer(row)]
    out: list[tuple[int, str]] = []
    for start, token in plain:
        if token == "#":
            break
        if out and (out[-1][1], token) in PAIRS:
            out[-1] = (out[-1][0], f"{out[-1][1]} {token}")
        else:
            out.append((start, token))
    return out


def _pair_length(row: str, start: int) -> int:
    found = re.match(r"\w+\s+\w+", row[start:])
    return found.end() if found else 0


def _sites(tree: ast.Module, rows: Sequence[str], first: int) -> Iterator[tuple[int, int, str]]:
    """(line of the file, start, token) of each operator and constant with alternatives."""
    for node in ast.walk(tree):
        gaps: list[tuple[ast.expr, ast.expr, str]] = []
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            gaps = [(a, b, OPERATORS[type(op)]) for a, b, op in zip(sides, sides[1:], node.ops)]
        elif isinstance(node, ast.BoolOp):
            gaps = [(a, b, OPERATORS[type(node.op)]) for a, b in zip(node.values, node.values[1:])]
        elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            gaps = [(node.left, node.right, OPERATORS[type(node.op)])]
        elif isinstance(node, ast.AugAssign) and type(node.op) in OPERATORS:
            gaps = [(node.target, node.value, OPERATORS[type(node.op)] + "=")]
        elif isinstance(node, ast.Constant) and type(node.value) in (int, bool):
            token = str(node.value)
            text = rows[node.lineno - 1][node.col_offset : node.end_col_offset]
            if text == token and (token in ALTERNATIVES or int(token) <= MOST):
                yield node.lineno + first - 1, node.col_offset, token
        for left, right, token in gaps:
            if left.end_lineno == right.lineno and token in ALTERNATIVES:
                start = left.end_col_offset or 0
                inner = [a for a, one in _tokens(rows[right.lineno - 1]) if one == token and start <= a]
                if inner and inner[0] < right.col_offset:
                    yield right.lineno + first - 1, inner[0], token
