"""Status classification: clusters of snapshots by their value, and uniform draws over clusters."""

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["draw_snapshot", "snapshot_probabilities", "status_classes"]

NEEDS = "status classes need scikit-learn: pip install 'handaxe[ml]'"


def status_classes(value_N: np.ndarray, *, clusters: int = 6) -> tuple[np.ndarray, ...]:
    """Cluster snapshots by value with k-means.

        classes minimise the sum over snapshots of (f_n - mean of f in the class of n)^2

    Args:
        value_N: f, a value per snapshot, finite.
        clusters: number of classes, >= 1; at most the number of distinct values is used. 6 in the paper's scripts.

    Returns:
        Indices of the snapshots of each class; the largest class first, equal sizes in order of their first snapshot.

    Raises:
        InputError: no snapshot, a value that is not finite, clusters below 1, or scikit-learn is missing.

    Example:
        values 0, 0.1, 0.9, 1, 1 and 2 clusters  ->  (2, 3, 4) and (0, 1)

    Paper: arXiv:2403.00673 (S3RL), status classification, with k-means of scikit-learn as in the released code.
    Differs: nothing.
    """
    value_N = np.asarray(value_N, np.float64)
    if value_N.ndim != 1 or not len(value_N) or not np.isfinite(value_N).all() or clusters < 1:
        raise InputError(
            f"{value_N.size} values and {clusters} clusters: give a finite value per snapshot, 1 cluster up"
        )
    try:
        from sklearn.cluster import KMeans
    except ImportError as error:
        raise InputError(NEEDS) from error
    count = min(clusters, len(np.unique(value_N)))
    label_N = KMeans(n_clusters=count, random_state=0, n_init="auto").fit(value_N[:, None]).labels_
    classes = [np.flatnonzero(label_N == label) for label in range(count)]
    return tuple(sorted((one for one in classes if len(one)), key=lambda one: (-len(one), one[0])))


def snapshot_probabilities(classes: Sequence[np.ndarray]) -> np.ndarray:
    """Compute the probability of each snapshot as a start.

        P_n  =  1 / C * 1 / |c(n)|        C classes, c(n) the class of snapshot n

    Args:
        classes: indices of the snapshots of each class; each index from 0 to N - 1 once.

    Returns:
        [N] float64 with sum 1.

    Example:
        classes of 10 and of 2 snapshots  ->  1/20 each in the first, 1/4 each in the second

    Paper: arXiv:2403.00673 (S3RL), a uniform class, then a uniform snapshot of the class.
    Differs: nothing.
    """
    chance_N = np.zeros(sum(len(one) for one in classes))
    for one in classes:
        chance_N[one] = 1 / (len(classes) * len(one))
    return chance_N


def draw_snapshot(classes: Sequence[np.ndarray], rng: np.random.Generator) -> tuple[int, int]:
    """Draw a class, then a snapshot of the class, both uniformly; returns the numbers of class and snapshot.

    Paper: arXiv:2403.00673 (S3RL), as `snapshot_probabilities`.
    Differs: nothing.
    """
    number = int(rng.integers(len(classes)))
    return number, int(rng.choice(classes[number]))
