"""Performance of a policy over a family of tasks, and estimates of the performance from few members.

    family  = sum_c p(c) J(c)
    gap     = J(point) - family

J(c) is the accuracy on member c, p the distribution of members, uniform here.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["family_mean", "medoid_weights", "medoids_error", "point_gap", "random_error"]


def family_mean(accuracy_M: Sequence[float]) -> float:
    """Mean accuracy of the members.

        sum_c p(c) J(c), p uniform

    Args:
        accuracy_M: of the members, one or more.

    Returns:
        The mean.

    Raises:
        InputError: there is no member.

    Example:
        A policy with 0.9 and 0.1 has 0.5, a policy with 0.6 and 0.6 has 0.6: on the first member alone the order is the
        opposite.

    Paper: arXiv:2210.08607 (Task underspecification), performance over a family of MDPs.
    Differs: accuracy of a fixed policy instead of the return of a training method.
    """
    if not len(accuracy_M):
        raise InputError("a family has no members: give one accuracy or more")
    return float(np.mean(accuracy_M))


def point_gap(accuracy_M: Sequence[float], point: int) -> float:
    """Accuracy on one member minus the mean of the family.

    Args:
        accuracy_M: of the members.
        point: index of the member.

    Example:
        accuracies 0.9 and 0.1, point 0 -> 0.9 - 0.5 = 0.4

    Paper: arXiv:2210.08607 (Task underspecification).
    """
    return float(accuracy_M[point]) - family_mean(accuracy_M)


def random_error(accuracy_M: Sequence[float], count: int) -> float:
    """Expected absolute error of the mean over `count` different members drawn at random.

        mean over all subsets S of `count` members of |mean_S J - family|

    Args:
        accuracy_M: of the members.
        count: 1 to the number of members.

    Raises:
        InputError: `count` is out of range.

    Example:
        accuracies 0.9, 0.6 and 0.0 have the mean 0.5; two members have 0.75, 0.45 or 0.3, and the expected error is
        (0.25 + 0.05 + 0.2) / 3 = 0.167

    Paper: arXiv:2210.08607 (Task underspecification), estimates from random subsets.
    """
    _check(len(accuracy_M), count)
    whole = family_mean(accuracy_M)
    subsets = itertools.combinations(accuracy_M, count)
    return float(np.mean([abs(np.mean(some) - whole) for some in subsets]))


def medoid_weights(places_MD: np.ndarray, count: int) -> dict[int, float]:
    """Choose the members closest to all members, and weight each by the share of members that are closest to it.

        medoids = argmin over subsets S of sum_c min_{m in S} |x_c - x_m|

    Every subset is tried. Of equal subsets, and of equally close medoids, the first counts.

    Args:
        places_MD: parameters of the members, [M, D]. Each parameter is scaled to 0 to 1.
        count: number of medoids, 1 to M.

    Returns:
        Member -> weight; the weights add up to 1.

    Raises:
        InputError: `count` is out of range.

    Example:
        places 0, 1, 2 and 10 with two medoids: members 1 and 3 with weights 0.75 and 0.25

    Paper: arXiv:2210.08607 (Task underspecification), estimates from clusters.
    Differs: k-medoids over all subsets instead of k-means, since a medoid is a member that can be played.
    """
    places_MD = np.asarray(places_MD, dtype=np.float64)
    _check(len(places_MD), count)
    span_D = np.ptp(places_MD, axis=0)
    scaled_MD = (places_MD - places_MD.min(axis=0)) / np.where(span_D > 0, span_D, 1.0)
    distance_MM = np.linalg.norm(scaled_MD[:, None] - scaled_MD[None], axis=-1)
    subsets = [list(some) for some in itertools.combinations(range(len(places_MD)), count)]
    costs = [round(float(distance_MM[:, some].min(axis=1).sum()), 9) for some in subsets]
    chosen = subsets[int(np.argmin(costs))]
    nearest_M = np.round(distance_MM[:, chosen], 9).argmin(axis=1)
    return {member: float(np.mean(nearest_M == place)) for place, member in enumerate(chosen)}


def medoids_error(accuracy_M: Sequence[float], weights: dict[int, float]) -> float:
    """Absolute error of the weighted mean over medoids.

        |sum_m w_m J(m) - family|

    Args:
        accuracy_M: of the members.
        weights: member -> weight, from `medoid_weights`.

    Example:
        accuracies 0.9, 0.8, 0.7 and 0.0 have the mean 0.6; medoids 1 and 3 with weights 0.75 and 0.25 estimate 0.6, and
        the error is 0

    Paper: arXiv:2210.08607 (Task underspecification), estimates from clusters.
    """
    estimate = sum(weight * accuracy_M[member] for member, weight in weights.items())
    return abs(float(estimate) - family_mean(accuracy_M))


def _check(members: int, count: int) -> None:
    if not 1 <= count <= members:
        raise InputError(f"{count} of {members} members: give 1 to the number of members")
