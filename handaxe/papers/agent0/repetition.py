"""Share of near-duplicates in a batch of texts, by BLEU clusters.

Idea: a proposer rewarded for single texts writes the best text again and again.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from handaxe.core.errors import InputError

__all__ = ["cluster_shares"]


def cluster_shares(texts: Sequence[str], *, threshold: float = 0.5) -> np.ndarray:
    """Compute the relative size of each text's cluster.

        d(x, y) = 1 - (BLEU(x; y) + BLEU(y; x)) / 2            clusters: average linkage, cut at `threshold`
        share_i = |cluster of i| / n

    Sentence BLEU: n-grams of up to 4 words, fewer for shorter texts; 0.1 counts for an n-gram order without a match;
    numbers and signs are separate words. Equal texts have distance 0; an empty text has distance 1 from any other.

    Args:
        texts: n texts, in any order.
        threshold: mean distance up to which two clusters are merged, 0 to 1.

    Returns:
        [n] float64.

    Raises:
        InputError: sacrebleu is not installed.

    Example:
        "what is 3 plus 4", "what is 3 plus 5", "name a river"  ->  2/3, 2/3, 1/3
    """
    count = len(texts)
    order = sorted(
        range(count), key=lambda i: texts[i]
    )  # linkage breaks ties by position: make it independent of sibling order
    kinds = sorted(set(texts))
    if len(kinds) < 2:
        return np.ones(count)
    bleu, distance = _sentence_bleu(), {}
    for left, right in combinations(kinds, 2):
        alike = (_alike(bleu, left, right) + _alike(bleu, right, left)) / 2 if left and right else 0.0
        distance[left, right] = 1 - alike
    distances = [0.0 if texts[i] == texts[j] else distance[texts[i], texts[j]] for i, j in combinations(order, 2)]
    cluster = fcluster(linkage(np.array(distances), method="average"), threshold, criterion="distance")
    shares: np.ndarray = np.zeros(count)
    shares[order] = np.bincount(cluster)[cluster] / count
    return shares


def _sentence_bleu() -> Any:
    try:
        from sacrebleu.metrics import BLEU
    except ImportError as error:
        raise InputError("clusters of similar questions need sacrebleu: pip install handaxe[bleu]") from error
    return BLEU(smooth_method="floor", smooth_value=0.1, effective_order=True)


def _alike(bleu: Any, text: str, reference: str) -> float:
    return float(bleu.sentence_score(text, [reference]).score) / 100
