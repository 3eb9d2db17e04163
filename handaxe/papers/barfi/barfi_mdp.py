"""BARFI (arXiv:2310.19007) on exactly solved processes: compare learned, summed and potential-based rewards."""

from collections.abc import Mapping, Sequence

import numpy as np

from handaxe.methods.method import StudyFunction
from handaxe.ops.seeds import derive_seed, generator
from handaxe.ops.stats import mean_interval
from handaxe.papers.barfi.blended_training import BilevelBudget, Blend, blended_training, fixed_training
from handaxe.papers.barfi.grid_task import GridTask, Heuristic, grid_task
from handaxe.papers.barfi.neumann_error import neumann_error

__all__ = ["barfi_mdp"]

HEURISTICS: tuple[Heuristic, ...] = ("helpful", "misleading")
TERMS = (0, 5, 100)


def barfi_mdp(*, grids: int = 8, updates: int = 200, processes: int = 8) -> StudyFunction:
    """Train a softmax policy by exact gradients, with the same number of updates for each reward.

    Figures:
        HEURISTIC/REWARD            primary return after the last update, mean over grids; REWARD is primary (without
                                    the heuristic), sum, potential or barfi
        HEURISTIC/REWARD/during     mean of the primary return over all updates
        HEURISTIC/gain/REWARD       barfi less that reward, after the last update; /low is the lower end of the 95 %
                                    interval of the mean. HEURISTIC/gain_during/REWARD: likewise, over all updates
        HEURISTIC/weight            learned weight of the heuristic, mean over cells by size of the heuristic's reward
        HEURISTIC/discount          learned discount
        neumann/N                   cosine of the gradient of N terms and the exact gradient, mean over processes

    Args:
        grids: drawn grids.
        updates: of the policy.
        processes: random processes of the comparison of gradients.

    Example:
        last returns on two grids: barfi 0.8 and 0.6, sum 0.5 and 0.5  ->  sum 0.5, barfi 0.7, gain/sum 0.2

    Paper: arXiv:2310.19007 (BARFI), comparison of the learned reward with the plain sum and with potentials.
    Idea: exact gradients leave the rewards as the only difference.
    """

    def measure(seed: int) -> dict[str, float]:
        figures = dict[str, float]()
        for heuristic in HEURISTICS:
            tasks = [grid_task(generator("barfi", seed, n), heuristic=heuristic) for n in range(grids)]
            figures |= {f"{heuristic}/{name}": value for name, value in _compare(tasks, updates).items()}
        seeds = [derive_seed("neumann", seed, n) for n in range(processes)]
        cosines = [neumann_error(one, terms=TERMS) for one in seeds]
        return figures | {f"neumann/{count}": float(np.mean([one[count] for one in cosines])) for count in TERMS}

    return measure


def _compare(tasks: Sequence[GridTask], updates: int) -> dict[str, float]:
    budget = BilevelBudget(updates=updates)
    fixed = {
        "primary": [fixed_training(one, one.primary_SA, budget) for one in tasks],
        "sum": [fixed_training(one, one.primary_SA + one.auxiliary_SA, budget) for one in tasks],
        "potential": [fixed_training(one, one.shaped_SA, budget) for one in tasks],
    }
    learned = [blended_training(one, budget) for one in tasks]
    curves = {name: np.array(found) for name, found in fixed.items()} | {"barfi": np.array([one for one, _ in learned])}
    blends = [blend for _, blend in learned]
    weights = [_weight(task, blend) for task, blend in zip(tasks, blends, strict=True)]
    means = {"weight": float(np.mean(weights)), "discount": float(np.mean([blend.discount for blend in blends]))}
    return _returns(curves) | means


def _returns(curves: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Figures of curves [grids, updates] by reward."""
    figures = {name: float(found_NU[:, -1].mean()) for name, found_NU in curves.items()}
    figures |= {f"{name}/during": float(found_NU.mean()) for name, found_NU in curves.items()}
    for name in curves.keys() - {"barfi"}:
        last_N = curves["barfi"][:, -1] - curves[name][:, -1]
        during_N = (curves["barfi"] - curves[name]).mean(1)
        for gain, found_N in (("gain", last_N), ("gain_during", during_N)):
            figures |= {f"{gain}/{name}": float(found_N.mean()), f"{gain}/{name}/low": mean_interval(found_N).low}
    return dict(sorted(figures.items()))


def _weight(task: GridTask, blend: Blend) -> float:
    size_S = np.abs(task.auxiliary_SA).sum(1)
    return float((size_S * blend.auxiliary_S).sum() / size_S.sum())
