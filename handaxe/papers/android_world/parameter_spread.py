"""Spread of a task's success over seeds of parameters, beside the spread over seeds of the policy."""

from __future__ import annotations

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["parameter_spread"]


def parameter_spread(success_PS: np.ndarray) -> dict[str, float]:
    """Compare both spreads of one template.

        params = mean_s sd_p(x_ps, P - 1)    policy = mean_p sd_s(x_ps, S - 1)    gap = params - policy

    With P = S both have the same bias, and the expected gap is 0 if parameters do not matter.

    Args:
        success_PS: success with the parameters of seed p and the policy of seed s, [P, S], two or more each.

    Returns:
        "params", "policy" and "gap".

    Raises:
        InputError: fewer seeds, or a value that is not finite.

    Example:
        [[1, 1], [0, 0]] -> params 0.7071, policy 0, gap 0.7071

    Paper: arXiv:2405.14573 (AndroidWorld), robustness to parameters.
    Unconfirmed: the form of the standard deviations.
    Differs: equal numbers of both seeds are advised.
    """
    success_PS = np.asarray(success_PS, dtype=np.float64)
    if success_PS.ndim != 2 or min(success_PS.shape) < 2 or not np.isfinite(success_PS).all():
        raise InputError(
            "a spread needs finite successes of two seeds or more of parameters and of the policy, [P, S]; "
            f"these have the shape {list(success_PS.shape)}"
        )
    params = float(success_PS.std(axis=0, ddof=1).mean())
    policy = float(success_PS.std(axis=1, ddof=1).mean())
    return {"params": params, "policy": policy, "gap": params - policy}
