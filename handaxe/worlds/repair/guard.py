"""Static rule for edits: a repair changes expressions of a function, and reaches nothing beyond the module.

Tests and edited code run in one process, so code with access to frames, modules or files could forge the result. The
sandbox protects the machine; this rule protects the score. A repair of a single token never needs what it forbids.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from handaxe.worlds.repair.source import Function, containing, statement

__all__ = ["LONGEST", "refusal"]

LONGEST = 200
"""Most characters of a line."""
SAFE = frozenset(
    {"abs", "all", "any", "bool", "dict", "divmod", "enumerate", "filter", "float", "frozenset", "int", "isinstance"}
    | {"iter", "len", "list", "map", "max", "min", "next", "pow", "range", "repr", "reversed", "round", "set", "slice"}
    | {"sorted", "str", "sum", "tuple", "zip"}
)
"""Builtins that every edit may use."""
BEYOND = (
    {"builtins", "ctypes", "f_back", "f_builtins", "f_globals", "f_locals", "format", "format_map", "gc", "gi_frame"}
    | {"importlib", "inspect", "io", "modules", "os", "pytest", "signal", "subprocess", "sys", "tb_frame", "threading"}
    | {"time", "traceback", "types", "unittest", "warnings"}
)
REFUSED = frozenset(dir(builtins)) - SAFE - {"True", "False", "None"} | BEYOND
"""Names that an edit may keep, and not add."""
STRUCTURE = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Lambda,
    ast.Import,
    ast.ImportFrom,
    ast.Global,
    ast.Nonlocal,
    ast.Try,
    ast.With,
    ast.JoinedStr,
    ast.NamedExpr,
)
"""Kinds of nodes that an edit may keep, and not add or remove."""


def refusal(functions: Sequence[Function], base: Sequence[str], rows: Sequence[str], line: int) -> str:
    """Reason against an edit, "" for a permitted one.

    Args:
        functions: of the module.
        base: lines of the module before all edits.
        rows: lines after the edit.
        line: edited line.

    Example:
        "return a < 1" may become "return a <= 1" and not "return __import__('os')"
    """
    function = containing(functions, line)
    if function is None or line < function.body:
        return "only lines in the body of a function can be replaced"
    if len(rows[line - 1]) > LONGEST or not rows[line - 1].isprintable():
        return f"a line has at most {LONGEST} printable characters"
    source = statement(function, rows)[0]
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"the line is no Python here: {getattr(error, 'msg', error)}"
    before = _facts(statement(function, base)[0])
    after = _facts_of(tree)
    if _shape(tree) != _shape(ast.parse(statement(function, base)[0])) or after[0] != before[0]:
        return "an edit must keep functions, imports and blocks as they are"
    known = _names("\n".join(base))
    new = after[1] - before[1]
    bad = sorted(name for name in new if name in REFUSED or "__" in name or name not in SAFE | known)
    return f"an edit must not add the name {bad[0]}" if bad else ""


def _shape(tree: ast.Module) -> list[tuple[str, int]]:
    """Names and first lines of all functions and classes."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [(node.name, node.lineno) for node in ast.walk(tree) if isinstance(node, kinds)]


@lru_cache(maxsize=4096)
def _facts(source: str) -> tuple[Counter[str], Counter[str]]:
    return _facts_of(ast.parse(source))


def _facts_of(tree: ast.Module) -> tuple[Counter[str], Counter[str]]:
    """Number of nodes of each kind of STRUCTURE, and of each name."""
    kinds = Counter(type(node).__name__ for node in ast.walk(tree) if isinstance(node, STRUCTURE))
    return kinds, Counter(_every_name(tree))


@lru_cache(maxsize=256)
def _names(text: str) -> frozenset[str]:
    return frozenset(_every_name(ast.parse(text)))


def _every_name(tree: ast.Module) -> list[str]:
    found = []
    for node in ast.walk(tree):
        for field in ("id", "attr", "arg", "name", "module"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                found.append(value)
    return found
