"""How much of a batch of texts says nearly the same as each of them.

Idea: a writer that is paid for what single texts are worth writes the best one again and again.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from handaxe.core.errors import InputError

__all__ = ["cluster_shares"]


def cluster_shares(texts: Sequence[str], *, threshold: float = 0.5) -> np.ndarray:
    """Share of the texts that are in the cluster of each.

        d(x, y) = 1 - (BLEU(x; y) + BLEU(y; x)) / 2            clusters: average linkage, cut at `threshold`
        share_i = |cluster of i| / n

    BLEU is that of sentences: up to 4 words in a row, or as many as there are, 0.1 counted where nothing matches;
    numbers and signs are words of their own. Equal texts are 0 apart, and an empty one is 1 from any other.

    Args:
        texts: n of them, in any order.
        threshold: the mean distance up to which two clusters are joined, 0 to 1.

    Returns:
        [n] float64.

    Raises:
        InputError: sacrebleu is not installed.

    Example:
        "what is 3 plus 4", "what is 3 plus 5", "name a river"  ->  2/3, 2/3, 1/3
    """
    count = len(texts)
    order = sorted(range(count), key=lambda i: texts[i])  # ties are broken by place: let it not be that of siblings
    kinds = sorted(set(texts))
    if len(kinds) < 2:
        return np.ones(count)
    bleu, apart = _sentence_bleu(), {}
    for left, right in combinations(kinds, 2):
        alike = (_alike(bleu, left, right) + _alike(bleu, right, left)) / 2 if left and right else 0.0
        apart[left, right] = 1 - alike
    distances = [0.0 if texts[i] == texts[j] else apart[texts[i], texts[j]] for i, j in combinations(order, 2)]
    cluster = fcluster(linkage(np.array(distances), method="average"), threshold, criterion="distance")
    shares: np.ndarray = np.zeros(count)
    shares[order] = np.bincount(cluster)[cluster] / count
    return shares


def _sentence_bleu() -> Any:
    try:
        from sacrebleu.metrics import BLEU
    except ImportError as error:
        raise InputError(
            "telling questions that repeat each other needs sacrebleu: pip install handaxe[bleu]"
        ) from error
    return BLEU(smooth_method="floor", smooth_value=0.1, effective_order=True)


def _alike(bleu: Any, said: str, reference: str) -> float:
    return float(bleu.sentence_score(said, [reference]).score) / 100
