"""Metrics of InfoMosaic-Bench: accuracy and pass rate."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.core.errors import InputError

__all__ = ["CORRECT", "mosaic_metrics"]

CORRECT = 2
"""Label of a correct answer; 1 is approximately correct, 0 incorrect."""


def mosaic_metrics(labels: Sequence[int], passes: Sequence[Sequence[bool] | None]) -> dict[str, float]:
    """Compute both metrics.

        accuracy = share of items with label 2
        pass_rate = mean over items with test cases of passed test cases / test cases

    Args:
        labels: of the items, each 0, 1 or 2; one or more.
        passes: for each item, whether each test case passes; None or empty for an item without test cases.

    Returns:
        "accuracy" and "pass_rate"; the latter is 0 without any test case.

    Raises:
        InputError: no item, other labels, or lists of different length.

    Example:
        labels 2, 1, 0 with 2 of 3, 1 of 2 and no test cases -> accuracy 0.333, pass rate (2/3 + 1/2) / 2 = 0.583

    Paper: arXiv:2510.02271 (InfoMosaic-Bench), released evaluation.
    Differs: labels are given instead of asked of a judge model.
    """
    if not labels or len(labels) != len(passes) or not set(labels) <= {0, 1, CORRECT}:
        raise InputError(
            f"metrics need labels 0, 1 or 2 with test cases of one item or more; there are {len(labels)} labels "
            f"{sorted(set(labels))[:5]} and {len(passes)} lists of test cases"
        )
    shares = [sum(cases) / len(cases) for cases in passes if cases]
    return {
        "accuracy": sum(label == CORRECT for label in labels) / len(labels),
        "pass_rate": sum(shares) / len(shares) if shares else 0.0,
    }
