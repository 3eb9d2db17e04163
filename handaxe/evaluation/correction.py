"""Correction of the claims of a whole table for multiple tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy  # scipy.stats takes a second: imported on use

from handaxe.evaluation.decide import Decision

__all__ = ["survive_correction"]

ERROR = 0.05


def survive_correction(decisions: Sequence[Decision], *, error: float = ERROR) -> list[bool]:
    """Return per decision whether its p-value stays below the false discovery rate of the table.

        adjusted p = Benjamini-Yekutieli over the decisions with a look;  survives: adjusted p <= error

    Claims share baselines, so the tests depend on each other in any way. Decisions without a look (not testable, or
    too few pairs) were not tested, and count as False.

    Example:
        p = 0.001, 0.2: the sum 1 + 1/2 = 1.5 gives 2 * 1.5 * 0.001 / 1 = 0.003 and 2 * 1.5 * 0.2 / 2 = 0.3: True, False

    Paper: Benjamini and Yekutieli, 2001, The control of the false discovery rate in multiple testing under dependency.
    """
    p = np.array([one.p for one in decisions])
    tested = np.array([one.look > 0 for one in decisions], dtype=bool)
    found = np.zeros(len(p), dtype=bool)
    if tested.any():
        found[tested] = scipy.stats.false_discovery_control(p[tested], method="by") <= error
    return found.tolist()
