"""STARC (arXiv:2309.15257): correlate distances between rewards with regret on random processes."""

from collections.abc import Callable
from functools import partial

import numpy as np
import scipy  # scipy.stats takes a second: imported on use

from handaxe.methods.method import StudyFunction
from handaxe.ops.finite_mdp import FiniteMdp, random_mdp
from handaxe.ops.seeds import generator
from handaxe.ops.stats import mean_interval
from handaxe.papers.starc.earlier_distances import dard_distance, epic_distance
from handaxe.papers.starc.regret import mutual_regret
from handaxe.papers.starc.reward_distance import reward_distance
from handaxe.papers.starc.reward_pairs import reward_pairs

__all__ = ["starc"]

DISTANCES: dict[str, Callable[[FiniteMdp, np.ndarray, np.ndarray], float]] = {
    "": reward_distance,
    "raw": partial(reward_distance, canonical=False),
    "epic": epic_distance,
    "dard": dard_distance,
}


def starc(
    *, processes: int = 32, pairs: int = 24, states: int = 8, actions: int = 3, discount: float = 0.9
) -> StudyFunction:
    """Compute Spearman's correlation of distance and regret over pairs of rewards, in each of several processes.

    Figures; OTHER is raw (the STARC distance without canonicalisation), epic or dard:
        spearman, spearman/OTHER        of the STARC distance, and of another one; mean over processes. /low: lower end
                                        of the 95 % interval of the mean
        gain/OTHER                      difference of both, with /low
        plain/spearman, plain/gain...   likewise, for pairs without changes that keep the order of policies
        equivalent, equivalent/OTHER    largest distance of a reward and an equivalent one

    Args:
        processes: random processes.
        pairs: of a process.
        states: of a process.
        actions: of a process.
        discount: of a process.
    """

    def measure(seed: int) -> dict[str, float]:
        figures = dict[str, float]()
        for prefix, equivalents in (("", True), ("plain/", False)):
            found = [correlations(seed, n, equivalents) for n in range(processes)]
            figures |= _correlation_figures(np.array([rank for rank, _ in found]), prefix)
            if equivalents:
                largest_K = np.array([nearest for _, nearest in found]).max(0)
                figures |= {_name("equivalent", own): float(one) for own, one in zip(DISTANCES, largest_K, strict=True)}
        return figures

    def correlations(seed: int, n: int, equivalents: bool) -> tuple[list[float], list[float]]:
        """Correlation of each distance, and each distance of the first pair."""
        rng = generator("starc", seed, n)
        mdp = random_mdp(rng, states=states, actions=actions, discount=discount)
        drawn = reward_pairs(rng, mdp, count=pairs, equivalents=equivalents)
        regrets = [mutual_regret(mdp, *pair) for pair in drawn]
        found = [[distance(mdp, *pair) for pair in drawn] for distance in DISTANCES.values()]
        return [_rank_correlation(one, regrets) for one in found], [one[0] for one in found]

    return measure


def _correlation_figures(rank_NK: np.ndarray, prefix: str) -> dict[str, float]:
    """Means over processes, and low ends of the intervals, of all correlations and of the gains of the first."""
    figures = dict[str, float]()
    for k, name in enumerate(DISTANCES):
        values = {_name("spearman", name): rank_NK[:, k]}
        if k:
            values[f"gain/{name}"] = rank_NK[:, 0] - rank_NK[:, k]
        for key, value_N in values.items():
            figures |= {f"{prefix}{key}": float(value_N.mean()), f"{prefix}{key}/low": mean_interval(value_N).low}
    return figures


def _name(figure: str, distance: str) -> str:
    return f"{figure}/{distance}" if distance else figure


def _rank_correlation(distances: list[float], regrets: list[float]) -> float:
    return float(scipy.stats.spearmanr(distances, regrets).statistic)
