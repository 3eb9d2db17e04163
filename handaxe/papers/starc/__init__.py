"""STARC (arXiv:2309.15257): correlate distances between rewards with regret on random processes."""

import numpy as np
import scipy  # scipy.stats takes a second: imported on use

from handaxe.methods.method import StudyFunction
from handaxe.ops.finite_mdp import random_mdp
from handaxe.ops.seeds import generator
from handaxe.ops.stats import mean_interval
from handaxe.papers.starc.regret import mutual_regret
from handaxe.papers.starc.reward_distance import reward_distance
from handaxe.papers.starc.reward_pairs import reward_pairs

__all__ = ["starc"]


def starc(
    *, processes: int = 32, pairs: int = 24, states: int = 8, actions: int = 3, discount: float = 0.9
) -> StudyFunction:
    """Compute Spearman's correlation of distance and regret over pairs of rewards, in each of several processes.

    Figures:
        spearman, spearman/raw          of the STARC distance, and of the same distance without canonicalisation; mean
                                        over processes. /low: lower end of the 95 % interval of the mean
        gain, gain/low                  difference of both
        plain/spearman, plain/gain...   likewise, for pairs without changes that keep the order of policies
        equivalent, equivalent/raw      largest distance of a reward and an equivalent one

    Args:
        processes: random processes.
        pairs: of a process.
        states: of a process.
        actions: of a process.
        discount: of a process.
    """

    def measure(seed: int) -> dict[str, float]:
        every_NK, plain_NK = (
            np.array([correlations(seed, n, equivalents) for n in range(processes)]) for equivalents in (True, False)
        )
        largest = {"equivalent": float(every_NK[:, 2].max()), "equivalent/raw": float(every_NK[:, 3].max())}
        return _correlation_figures(every_NK, "") | largest | _correlation_figures(plain_NK, "plain/")

    def correlations(seed: int, n: int, equivalents: bool) -> tuple[float, float, float, float]:
        rng = generator("starc", seed, n)
        mdp = random_mdp(rng, states=states, actions=actions, discount=discount)
        drawn = reward_pairs(rng, mdp, count=pairs, equivalents=equivalents)
        regrets = [mutual_regret(mdp, *pair) for pair in drawn]
        near, raw = ([reward_distance(mdp, *pair, canonical=own) for pair in drawn] for own in (True, False))
        return _rank_correlation(near, regrets), _rank_correlation(raw, regrets), near[0], raw[0]

    return measure


def _correlation_figures(found_NK: np.ndarray, prefix: str) -> dict[str, float]:
    """Mean over processes, and low end of the interval, of both correlations and of the gain."""
    values = {"spearman": found_NK[:, 0], "spearman/raw": found_NK[:, 1], "gain": found_NK[:, 0] - found_NK[:, 1]}
    figures = dict[str, float]()
    for name, value_N in values.items():
        figures |= {f"{prefix}{name}": float(value_N.mean()), f"{prefix}{name}/low": mean_interval(value_N).low}
    return figures


def _rank_correlation(distances: list[float], regrets: list[float]) -> float:
    return float(scipy.stats.spearmanr(distances, regrets).statistic)
