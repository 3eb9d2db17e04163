"""Merge of two programs that differ in constants into one with parameters."""

from __future__ import annotations

from handaxe.tools.program_search import BlockCall, Constant, Expression, Parameter, Program

__all__ = ["Merge", "merge_programs"]

Merge = tuple[Program, dict[str, int | str], dict[str, int | str]]
"""The universal program, and the values of the new parameters for the first and for the second program. A value is a
constant, or the name of a parameter of the merged program."""


def merge_programs(one: Program, other: Program) -> Merge | None:
    """Find the least general generalization of two programs.

        lgg(a, a) = a
        lgg(f(a1 ..), f(b1 ..)) = f(lgg(a1, b1) ..)
        lgg(c, d) = n, one parameter for each pair (c, d)

    Constants c and d are whole numbers, or parameters that an earlier merge introduced. All other nodes must be equal.

    Args:
        one: program with the parameter xs, and others of earlier merges.
        other: likewise.

    Returns:
        None if the programs differ in more than constants.

    Example:
        drop(concat(xs, zeros(2)), 2) and drop(concat(xs, zeros(3)), 3)  ->  drop(concat(xs, zeros(n0)), n0), with n0
        of 2 and of 3

    Paper: arXiv:2601.18226 (Yunjue Agent), merge of a cluster of tools into one universal function.
    Differs: anti-unification, where the paper asks a language model to merge.
    """
    pairs: dict[tuple[Expression, Expression], str] = {}
    body = _merge(one.body, other.body, pairs)
    if body is None:
        return None
    names = list(pairs.values())
    program = Program({"xs": one.parameters["xs"], **dict.fromkeys(names, int)}, body)
    first = {name: _value(pair[0]) for pair, name in pairs.items()}
    second = {name: _value(pair[1]) for pair, name in pairs.items()}
    return program, first, second


def _merge(one: Expression, other: Expression, pairs: dict[tuple[Expression, Expression], str]) -> Expression | None:
    if isinstance(one, BlockCall) and isinstance(other, BlockCall):
        if one.block != other.block:
            return None
        parts = [_merge(a, b, pairs) for a, b in zip(one.arguments, other.arguments, strict=True)]
        found = tuple(part for part in parts if part is not None)
        return BlockCall(one.block, found) if len(found) == len(parts) else None
    if _is_free(one) and _is_free(other):
        if one == other and isinstance(one, Constant):
            return one
        return Parameter(pairs.setdefault((one, other), f"n{len(pairs)}"))
    return one if one == other else None


def _is_free(node: Expression) -> bool:
    """Return True for a whole number, or a parameter of an earlier merge."""
    return (isinstance(node, Constant) and node.kind is int) or (isinstance(node, Parameter) and node.name != "xs")


def _value(node: Expression) -> int | str:
    assert isinstance(node, Constant | Parameter), "only free nodes are in pairs"
    return node.value if isinstance(node, Constant) else node.name
