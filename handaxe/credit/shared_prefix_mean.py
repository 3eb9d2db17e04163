"""Credit in which siblings agree on the tokens that they share."""

from collections.abc import Mapping

import numpy as np

from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.credit.group_norm import group_norm
from handaxe.ops.composite import Composite
from handaxe.ops.forks import owners

__all__ = ["shared_prefix_mean"]


def shared_prefix_mean(*, credit: Credit | None = None) -> Credit:
    """Give tokens that several branches share the mean of their advantages.

        A'_i,t = mean of A_j,t over the d siblings j that share token t of i, i itself included
        A'_i,t = A_i,t                                                         where i shares it with none

    A fork shares what stands before its `branch_of`, with the sibling it left and with all that left it behind that
    place. Each of the d has the token among its own and trains it, so the sum over them, and with it the gradient of
    a loss that weighs all tokens alike, is what it is without this; where attempts are weighed by length it is not.

    Args:
        credit: gives A; `group_norm()` unless told otherwise.

    Returns:
        A credit: (Group, Scores) -> Advantages, [T] for each sequence; `returns` and `trains` stay as they are.
        Unscored siblings (outcome NaN) get 0 and count nowhere. Its state is that of `credit`.

    Example:
        outcomes 1, 0, 0, 0  ->  A 1.5, -0.5, -0.5, -0.5; what the first two share gets 0.5 in both

    Paper: ARPO, arXiv:2507.19849, advantage attribution, hard. The soft one, its default, is `group_norm` as it is.
    Differs: nothing.
    """
    return _SharedPrefixMean(group_norm() if credit is None else credit)


class _SharedPrefixMean(Composite):
    def __init__(self, credit: Credit):
        self._credit = credit

    def __call__(self, group: Group, scores: Scores) -> Advantages:
        said = self._credit(group, scores)
        tokens = tuple(tuple(np.array(adv_T) for adv_T in own) for own in said.tokens)
        scored = [i for i in range(len(group)) if not np.isnan(scores.outcome[i])]
        whose = owners(group)
        for s in range(max((len(own) for own in tokens), default=0)):
            having = [i for i in scored if s < len(tokens[i])]
            for number in np.unique(np.concatenate([np.zeros(0), *[whose[i][s] for i in having]])):
                _average([tokens[i][s] for i in having], [whose[i][s] == number for i in having])
        return Advantages(tokens, said.returns, said.trains)

    def parts(self) -> Mapping[str, object]:
        return {"credit": self._credit}


def _average(rows: list[np.ndarray], own: list[np.ndarray]) -> None:
    """Put, at every place, the mean over the rows that own it in each of those."""
    length = max((int(own_T.nonzero()[0][-1]) + 1 for own_T in own if own_T.any()), default=0)
    total_T, count_T = np.zeros(length), np.zeros(length, int)
    for row_T, own_T in zip(rows, own):
        places = own_T.nonzero()[0]
        total_T[places] += row_T[places]
        count_T[places] += 1
    for row_T, own_T in zip(rows, own):
        places = own_T.nonzero()[0]
        places = places[count_T[places] > 1]
        row_T[places] = total_T[places] / count_T[places]
