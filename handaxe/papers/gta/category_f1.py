"""End-to-end metrics of a tool agent: precision, recall and F1 of tool selection by category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from handaxe.core.records import ToolCall

__all__ = ["category_f1"]

EPS = 1e-5


def category_f1(
    rollouts: Sequence[tuple[Sequence[ToolCall], Sequence[ToolCall]]], categories: Mapping[str, str]
) -> dict[str, float]:
    """Compute the F1 of tool selection for each category of tools.

        hit_c = reference calls of category c with a tool that occurs in the same rollout's predicted calls
        P_c   = hit_c / (predicted calls of c + 1e-5)      R_c = hit_c / (reference calls of c + 1e-5)
        F1_c  = 2 P_c R_c / (P_c + R_c + 1e-5)

    Arguments and order do not count. Sums are over all rollouts.

    Args:
        rollouts: (predicted calls, reference calls) of each rollout.
        categories: tool -> category. Tools without category are ignored.

    Returns:
        Category -> F1, 0 to 1.

    Example:
        predicted ocr, ocr, calculator and reference ocr, search; ocr is of perception, the others of logic
        ->  perception P 1/2, R 1, F1 2/3; logic 0

    Paper: arXiv:2407.08713 (GTA), the end-to-end mode; from its released code, which adds 1e-5 to the denominator of
        the precision.
    Differs: 1e-5 is added to every denominator, so that a category without calls has 0.
    """
    hits, made, wanted = (dict.fromkeys(categories.values(), 0) for _ in range(3))
    for predicted, reference in rollouts:
        names = {call.name for call in predicted}
        for call in predicted:
            if call.name in categories:
                made[categories[call.name]] += 1
        for call in reference:
            if call.name in categories:
                wanted[categories[call.name]] += 1
                hits[categories[call.name]] += call.name in names
    return {name: _f1(hits[name] / (made[name] + EPS), hits[name] / (wanted[name] + EPS)) for name in hits}


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall + EPS)
