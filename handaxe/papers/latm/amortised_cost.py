"""Amortised cost of a strong maker and a weak user."""

from __future__ import annotations

from math import ceil, inf

from handaxe.core.errors import InputError

__all__ = ["amortised_cost", "break_even"]


def amortised_cost(count: int, *, make: float, use: float) -> float:
    """Compute the cost of a tool for `count` questions: made once, used for each.

        C(n)  =  make + n * use

    Args:
        count: n, >= 0.
        make: cost of the tool.
        use: cost of a question with the tool.

    Raises:
        InputError: a negative number.

    Example:
        make 10, use 1, count 100 -> 110

    Paper: arXiv:2305.17126 (LATM), O(n c + C) with a tool against O(n C) without.
    Differs: costs in the unit of the caller, where the paper has prices.
    """
    if min(count, make, use) < 0:
        raise InputError(f"count {count}, make {make} and use {use}: give numbers of 0 or more")
    return make + count * use


def break_even(*, make: float, use: float, alone: float) -> float:
    """Find the least number of questions with a lower cost with the tool than without.

        n*  =  least n with make + n use < n alone

    Args:
        make: cost of the tool.
        use: cost of a question with the tool.
        alone: cost of a question without it.

    Returns:
        A whole number; inf if alone <= use.

    Example:
        make 10, use 1, alone 10 -> 2, since 11 > 10 and 12 < 20

    Paper: arXiv:2305.17126 (LATM), the condition under which the maker pays.
    """
    if min(make, use, alone) < 0:
        raise InputError(f"make {make}, use {use} and alone {alone}: give numbers of 0 or more")
    if alone <= use:
        return inf
    least = make / (alone - use)
    return float(ceil(least) + (ceil(least) == least))
