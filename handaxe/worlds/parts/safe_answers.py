"""Filter of answers for scorers with `eval`.

The scorers of nine generators of reasoning-gym call `eval` on the answer, or sympy's `parse_expr`, which calls `eval`.
A policy must neither run code in the trainer nor block it with a tower of powers.
"""

import ast
import math
import re
from typing import Any

__all__ = ["is_safe"]

LITERAL = frozenset({"binary_matrix", "n_queens", "spiral_matrix", "string_insertion"})
FORMULA = frozenset(
    {"countdown", "intermediate_integration", "polynomial_multiplication", "puzzle24", "simple_integration"}
)
FUNCTIONS = frozenset({"C", "E", "acos", "asin", "atan", "cos", "exp", "log", "pi", "sin", "sqrt", "tan"})
MAX_CHARS = 2_000
MAX_EXPONENT = 10_000


def is_safe(generator: str, text: str, *, oracle: Any = None) -> bool:
    """Check whether an answer may be passed to the generator's scorer.

    Args:
        generator: most scorers compare texts and accept any text. Four evaluate lists: Python literals pass, and text
            that is not Python. Five evaluate a formula: numbers of at most 30 characters, one-letter names, the common
            functions (not for the two number games) and + - * / ** ( ) pass; the product of all numbers in exponents is
            at most 10,000, and no exponent contains another.
        text: the policy's answer.
        oracle: the reference answer, which always passes.

    Example:
        is_safe("countdown", "3*(4+5)") is True, is_safe("countdown", "__import__('os')") False.
    """
    if generator not in LITERAL | FORMULA or text.strip() == str(oracle).strip():
        return True
    if len(text) > MAX_CHARS:
        return False
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (RecursionError, MemoryError):
        return False
    except (SyntaxError, ValueError):
        # Not Python: eval cannot run it, but sympy's parser rewrites text before evaluation.
        return generator in LITERAL
    if generator in LITERAL:
        return _is_literal(text)
    if generator in ("countdown", "puzzle24") and any(isinstance(node, ast.Call) for node in ast.walk(tree)):
        return False
    return all(_is_formula(node) for node in ast.walk(tree)) and _exponents(tree) <= MAX_EXPONENT


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text.strip())
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return False
    return True


def _is_formula(node: ast.AST) -> bool:
    match node:
        case ast.Constant(value=int() | float() as number):
            return len(repr(number)) <= 30
        case ast.Name(id=name):
            return name in FUNCTIONS or re.fullmatch("[A-Za-z]", name) is not None
        case ast.Call(func=ast.Name(id=name), keywords=[]):
            return name in FUNCTIONS
        case ast.BinOp() | ast.UnaryOp() | ast.operator() | ast.UAdd() | ast.USub() | ast.Load():
            return not isinstance(node, ast.LShift | ast.RShift | ast.MatMult | ast.Mod | ast.FloorDiv)
    return False


def _exponents(tree: ast.expr) -> float:
    """The product of the numbers in all exponents; infinity for an exponent that contains a power or a function."""
    product = 1.0
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            parts = list(ast.walk(node.right))
            if any(isinstance(part, ast.Call | ast.Pow) for part in parts):
                return math.inf
            for part in parts:
                if isinstance(part, ast.Constant) and isinstance(part.value, int | float):
                    product *= max(1.0, abs(float(part.value)))
    return product
