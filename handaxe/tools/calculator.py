"""Arithmetic on an expression, evaluated on the syntax tree and never by eval."""

import ast
import math
import operator
import re
from collections.abc import Callable
from typing import Annotated, Any

from handaxe.core.errors import Retry
from handaxe.tools.decorator import tool

__all__ = ["MAX_BITS", "MAX_CHARS", "MAX_DEPTH", "calculator"]

MAX_BITS = 13_000
"""Bits of the largest integer, about 3900 digits."""
MAX_CHARS = 2_000
"""Characters of the longest expression."""
MAX_DEPTH = 60
"""Levels of the deepest expression."""
WARNED = re.compile(r"\\|[0-9a-f_.j](and|else|for|if|in|is|not|or)", re.IGNORECASE)
"""Text that is no arithmetic and makes Python's parser warn on the host's terminal: a backslash, or a number followed
by a keyword.
"""


@tool(timeout=None, max_chars=4_000)
def calculator(expression: Annotated[str, "for example 12*(3+4)"]) -> str:
    """Calculate. Knows + - * / // % **, parentheses, abs, gcd, lcm, max, min, round and sqrt.

    Args:
        expression: whole and decimal numbers. A division or root that comes out whole is a whole number.

    Returns:
        A whole number in full, or the shortest decimal that reads back as the same float.

    Raises:
        Retry: it cannot be read, is too large, divides by zero or has no real value; the message says which.

    Example:
        calculator("12*(3+4)") is "84", calculator("7/2") "3.5", calculator("8/2") "4", calculator("gcd(12,18)") "6".
    """
    text = expression.strip()
    if len(text) > MAX_CHARS:
        raise Retry(f"the expression has {len(text)} characters, the limit is {MAX_CHARS}")
    try:
        if WARNED.search(text):
            raise ValueError
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Retry(f"cannot read {_short(text)}: write one expression such as 12*(3+4)") from None
    try:
        return str(_value(tree, 0))
    except ZeroDivisionError:
        raise Retry(f"{_short(text)} divides by zero") from None
    except OverflowError:
        raise Retry(f"{_short(text)} is too large") from None
    except (TypeError, ValueError) as error:
        raise Retry(f"cannot calculate {_short(text)}: {error}") from None


def _divide(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int) and left % right == 0:
        return left // right
    return left / right


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int):
        if exponent >= 0:
            _fit(base.bit_length() * exponent if abs(base) > 1 else 1)
        return base**exponent
    return float(base) ** exponent


def _root(value: Any) -> Any:
    whole = math.isqrt(value) if isinstance(value, int) and value >= 0 else -1
    return whole if whole * whole == value and whole >= 0 else math.sqrt(value)


def _fit(bits: int) -> None:
    if bits > MAX_BITS:
        raise Retry(f"a number on the way has about {int(bits * 0.30103)} digits, which is too large")


BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _divide,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
UNARY: dict[type, Callable[[Any], Any]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "gcd": math.gcd,
    "lcm": math.lcm,
    "max": max,
    "min": min,
    "round": round,
    "sqrt": _root,
}


def _value(node: ast.expr, depth: int) -> int | float:
    if depth > MAX_DEPTH:
        raise Retry(f"the expression is nested deeper than {MAX_DEPTH} levels; calculate it in parts")
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            result = number
        case ast.UnaryOp() if type(node.op) in UNARY:
            result = UNARY[type(node.op)](_value(node.operand, depth + 1))
        case ast.BinOp() if type(node.op) in BINARY:
            result = BINARY[type(node.op)](_value(node.left, depth + 1), _value(node.right, depth + 1))
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in FUNCTIONS:
            result = FUNCTIONS[name](*[_value(argument, depth + 1) for argument in node.args])
        case _:
            raise Retry(f"{_name(node)} is not arithmetic; there are + - * / // % ** and {', '.join(FUNCTIONS)}")
    if isinstance(result, float) and not math.isfinite(result):
        raise OverflowError
    if isinstance(result, int):
        _fit(result.bit_length())
    if not isinstance(result, int | float):
        raise Retry(f"{_name(node)} is not a real number")
    return result


def _name(node: ast.expr) -> str:
    hint = " (a power is **)" if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor) else ""
    return _short(ast.unparse(node)) + hint


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
