"""Groups with labels, for judges that learn: as rated groups, and metrics of a judge's scores on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handaxe.core.protocols import Labelled
from handaxe.core.records import Advantages, RatedGroup
from handaxe.ops.ragged import channel_values

__all__ = ["ranking_metrics", "with_zero_credit"]


def with_zero_credit(labelled: Sequence[Labelled]) -> list[RatedGroup]:
    """Give each group advantages of 0, as makers of pairs take rated groups.

    Example:
        a group with outcomes 1 and 0  ->  a rated group with these scores, and 0 at every token

    Idea: labels of a fit have no credit.
    """
    return [
        RatedGroup.of(
            group,
            scores,
            Advantages(tuple(tuple(np.zeros(len(own)) for own in one.sequences) for one in group)),
            trained=np.ones(len(group), bool),
        )
        for group, scores in labelled
    ]


def ranking_metrics(score_N: np.ndarray, groups: Sequence[RatedGroup], channel: str | None = None) -> dict[str, float]:
    """Compare scores with the outcomes of the same rollouts.

        agreement   share of pairs of siblings with unequal outcomes in the order of the scores, 1/2 for equal scores
        gap         mean score of the better side of these pairs, less that of the other
        mean        mean of the scores
        spread      standard deviation of the scores

    Args:
        score_N: [N] scores of the rollouts of all groups, in order.
        groups: rated groups.
        channel: of the scores with the outcome; None: the outcome.

    Returns:
        Metrics; agreement 0.5 and gap 0 without a pair.

    Example:
        scores 1, 0.5, 0 with outcomes 1, 0, 1  ->  agreement 0.5, gap 0 (0.5 and -0.5)

    Idea: metrics of a reward model before it learns.
    """
    gaps, at = [np.zeros(0)], 0
    for rated in groups:
        own, value = score_N[at : at + len(rated.group)], channel_values(rated.scores, channel)
        at += len(rated.group)
        gaps.append(np.subtract.outer(own, own)[np.greater.outer(value, value)])
    gap_P = np.concatenate(gaps)
    return {
        "agreement": float((gap_P > 0).mean() + (gap_P == 0).mean() / 2) if len(gap_P) else 0.5,
        "gap": float(gap_P.mean()) if len(gap_P) else 0.0,
        "mean": float(score_N.mean()) if len(score_N) else 0.0,
        "spread": float(score_N.std()) if len(score_N) else 0.0,
    }
