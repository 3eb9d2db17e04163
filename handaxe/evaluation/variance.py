"""Variance of paired differences, split into training seed, tasks and sampling."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["VarianceComponents", "explained_share", "interaction_variance", "variance_components"]


class VarianceComponents(NamedTuple):
    """Variance components of a difference d_stk of pair s at task t in sample k; see `variance_components`.

    seed       of the pairs' means;  task  of the tasks' means, shared by all pairs
    seed_task  of the interaction of pair and task;  sampling  of a rollout within pair and task
    """

    seed: float
    task: float
    seed_task: float
    sampling: float

    def of_pair(self, *, tasks: int, samples: int = 1) -> float:
        """Variance of the mean difference of a pair, over pairs with the same tasks.

            seed + (seed_task + sampling / samples) / tasks

        The component `task` is an offset that all pairs share; an interval over pairs does not contain it.

        Args:
            tasks: held-out tasks, >= 1.
            samples: rollouts a task, >= 1.

        Example:
            components 4, 0, -0.5 and 3: with 2 tasks and 2 samples 4 + (-0.5 + 1.5) / 2 = 4.5
        """
        return self.seed + (self.seed_task + self.sampling / samples) / tasks


def variance_components(values_STK: np.ndarray) -> VarianceComponents:
    """Estimate the components of a crossed design with replication, without bias; an estimate may be negative.

        d_stk = m + a_s + b_t + c_st + e_stk           independent, with the variances seed, task, seed_task, sampling

        MS_s  = T K  sum_s  (d_s - d)^2 / (S - 1)      expectation  sampling + K seed_task + T K seed
        MS_t  = S K  sum_t  (d_t - d)^2 / (T - 1)                   sampling + K seed_task + S K task
        MS_st = K  sum_st (d_st - d_s - d_t + d)^2 / ((S - 1) (T - 1))         sampling + K seed_task
        MS_e  = sum_stk (d_stk - d_st)^2 / (S T (K - 1))                       sampling

    Args:
        values_STK: difference of each pair, task and sample. With common random numbers, both sides of a pair have the
            same seeds in sample k.

    Raises:
        InputError: fewer than two pairs, tasks or samples, or a value that is not finite.

    Example:
        2 pairs, 2 tasks, 2 samples: (1, 3), (4, 4) and (5, 7), (4, 8). The means of the cells are 2, 4, 6, 6, so MS_s
        is 18, MS_t 2, MS_st 2 and MS_e 3: seed (18 - 2) / 4 = 4, task 0, seed_task (2 - 3) / 2 = -0.5, sampling 3

    Paper: Searle, Casella and McCulloch, 1992, Variance components, section 4.3 (two-way crossed, balanced).
    """
    values = np.asarray(values_STK, dtype=np.float64)
    if values.ndim != 3 or min(values.shape) < 2 or not np.isfinite(values).all():
        raise InputError(f"values of shape {values.shape}: give finite values of 2 or more pairs, tasks and samples")
    pairs, tasks, samples = values.shape
    cells_ST = values.mean(axis=2)
    of_seed = tasks * samples * cells_ST.mean(axis=1).var(ddof=1)
    of_task = pairs * samples * cells_ST.mean(axis=0).var(ddof=1)
    of_both = samples * interaction_variance(cells_ST)
    sampling = float(np.mean(values.var(axis=2, ddof=1)))
    return VarianceComponents(
        seed=float(of_seed - of_both) / (tasks * samples),
        task=float(of_task - of_both) / (pairs * samples),
        seed_task=(of_both - sampling) / samples,
        sampling=sampling,
    )


def interaction_variance(values_ST: np.ndarray) -> float:
    """Variance of single cells without the means of pairs and tasks: seed_task + sampling / K for means of K samples.

        sum_st (d_st - d_s - d_t + d)^2 / ((S - 1) (T - 1))

    Args:
        values_ST: difference of each pair and task, of 2 or more of both.

    Example:
        (2, 4) and (6, 6): the rests are -0.5, 0.5, 0.5, -0.5, and the variance is 1
    """
    pairs, tasks = values_ST.shape
    return float(np.sum(_centered(values_ST) ** 2)) / ((pairs - 1) * (tasks - 1))


def explained_share(values_ST: np.ndarray, covariate_ST: np.ndarray) -> float:
    """Estimate the share of the interaction of pair and task that a covariate of the same cells explains.

        1 - MS(r - b z) / MS(r),   b = sum r z / sum z^2,   r, z without the means of pairs and tasks

    The mean square of the residual has one degree of freedom less, so a covariate without any relation has the
    expectation 0, and an estimate may be negative.

    Args:
        values_ST: difference of each pair and task.
        covariate_ST: value known before training, such as the outcome of the start with the seed of the pair.

    Returns:
        The share; 0 if the covariate or the difference has no interaction.

    Raises:
        InputError: other shapes than one cell a pair and task, or fewer than two pairs and three tasks.

    Example:
        differences (0, 0, 3) and (2, 0, 1): the rests of pair 1 are (-1, 0, 1), those of pair 2 the opposite, and the
        sum of squares is 4. Rests (-1, 1, 0) of the covariate give b = 2 / 4 and a residual of 4 - 1 = 3: with 2
        degrees of freedom and 1, the share is 1 - 3 / (4 / 2) = -0.5
    """
    values, covariate = (np.asarray(one, dtype=np.float64) for one in (values_ST, covariate_ST))
    if values.ndim != 2 or values.shape != covariate.shape or values.shape[0] < 2 or values.shape[1] < 3:
        raise InputError(
            f"values of shape {values.shape} and a covariate of {covariate.shape}: give both [pairs, tasks], of 2 or "
            "more pairs and 3 or more tasks"
        )
    rest, other = _centered(values), _centered(covariate)
    total, square = float(np.sum(rest**2)), float(np.sum(other**2))
    if total < ROUNDING or square < ROUNDING:
        return 0.0
    left = total - float(np.sum(rest * other)) ** 2 / square
    freedom = (values.shape[0] - 1) * (values.shape[1] - 1)
    return 1.0 - (left / (freedom - 1)) / (total / freedom)


ROUNDING = 1e-18
"""Sum of squares that rounding of equal values leaves."""


def _centered(values_ST: np.ndarray) -> np.ndarray:
    """Cells without the means of pairs and tasks."""
    rows, columns = values_ST.mean(axis=1, keepdims=True), values_ST.mean(axis=0, keepdims=True)
    centered: np.ndarray = values_ST - rows - columns + values_ST.mean()
    return centered
