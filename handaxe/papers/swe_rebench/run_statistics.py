"""Statistics of repeated evaluations: mean resolved rate, standard error over runs, and pass@k."""

from __future__ import annotations

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["run_statistics"]


def run_statistics(resolved_RN: np.ndarray) -> dict[str, float]:
    """Compute the figures of a leaderboard over R runs of N tasks.

        rate_r = mean_n x_rn    mean = mean_r rate_r    sem = sd_r(rate, R - 1) / sqrt(R)
        pass = mean_n max_r x_rn

    Args:
        resolved_RN: 0 or 1, [R, N], two runs or more, one task or more.

    Returns:
        "mean", "sem" and "pass", which is pass@R.

    Raises:
        InputError: fewer runs or tasks, or other values.

    Example:
        rates 0.30, 0.32, 0.28, 0.30 and 0.30 -> mean 0.30, sem 0.01414 / sqrt(5) = 0.0063

    Paper: arXiv:2505.20411 (SWE-rebench), five runs with mean, SEM and pass@5.
    Differs: any number of runs.
    """
    resolved_RN = np.asarray(resolved_RN, dtype=np.float64)
    if (
        resolved_RN.ndim != 2
        or len(resolved_RN) < 2
        or not resolved_RN.shape[1]
        or not set(np.unique(resolved_RN)) <= {0, 1}
    ):
        raise InputError(
            "statistics of runs need 0 or 1 for two runs or more of one task or more, [runs, tasks]; "
            f"these have the shape {list(resolved_RN.shape)}"
        )
    rate_R = resolved_RN.mean(axis=1)
    return {
        "mean": float(rate_R.mean()),
        "sem": float(rate_R.std(ddof=1) / np.sqrt(len(rate_R))),
        "pass": float(resolved_RN.max(axis=0).mean()),
    }
