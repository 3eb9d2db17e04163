"""Asks reward and credit once more, after what learns beside the policy has learned."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.protocols import Credit, Reward, Shape
from handaxe.core.records import Rated, Scores
from handaxe.ops.ragged import turn_rewards

__all__ = ["credited_again"]


def credited_again(
    *, reward: Reward, credit: Credit, on: bool = True, peak: bool = False, then: Shape | None = None
) -> Shape:
    """Replace the advantages of what was selected by those under the judge of now.

        A' = credit(group, reward(group))        of every group, as `train` calls a shape after its learners

    Within a step `train` rewards and credits first and lets the judge learn afterwards, so that its scores are those of
    the weights before (iStar's released setting, update after). This is the other order. The scores that are recorded
    stay the first ones; a selector has seen those too. With `peak` the turn rewards r are brought to the scale of the
    batch before they are credited, those of now or, with `on` False, those of before:

        r'_ik = r_ik / c        c = max |sum_{l >= k} r_il| over the turns k of all scored siblings i of all groups

    Args:
        reward: what `train` has; asked a second time, so without memory of its own.
        credit: what `train` has; without memory and value targets.
        on: False asks nothing again; without `peak` it leaves everything as it is.
        peak: divide turn rewards by the largest of their sums from a turn on; off in the paper's runs.
        then: a further shape, which is applied to what comes of it.

    Returns:
        A shape: [Rated] -> [Rated]. With `peak`, where all turn rewards are 0 they stay so. Which tokens and attempts
        train, value targets and channels stay as they are. Not for `self_imitation`, whose groups of one would be
        credited anew.

    Example:
        on outcomes 1, 0 that have become 0, 1 since, under leave_one_out()  ->  -1, 1 instead of 1, -1
        peak, turn rewards (0.2, 0.1) and (-0.1, 0): sums 0.3, 0.1, -0.1, 0, so c = 0.3  ->  2/3, 1/3 and -1/3, 0

    Paper: arXiv:2509.19199 (iStar), whose PRM is refreshed before or after it scores, and whose released code has the
    division as an option.
    Unconfirmed: that `peak` was off in the paper's runs.
    Differs: nothing.
    """

    def shape(rated: Sequence[Rated]) -> Sequence[Rated]:
        if on or peak:
            scores = [reward(one.group) if on else one.scores for one in rated]
            scores = _divided(rated, scores) if peak else scores
            rated = [_again(one, own) for one, own in zip(rated, scores, strict=True)]
        return list(rated) if then is None else then(list(rated))

    def _again(one: Rated, scores: Scores) -> Rated:
        tokens = credit(one.group, scores).tokens
        return replace(one, advantages=replace(one.advantages, tokens=tokens))

    return shape


def _divided(rated: Sequence[Rated], scores: Sequence[Scores]) -> list[Scores]:
    """The scores with their turn rewards divided by the largest sum of these from a turn on."""
    known = [
        (own, turn_rewards(one.group, own)) if own.turns is not None else (own, ())
        for one, own in zip(rated, scores, strict=True)
    ]
    sums = [
        np.abs(np.cumsum(values[::-1])).max()
        for own, turns in known
        for value, values in zip(own.outcome, turns)
        if len(values) and not np.isnan(value)
    ]
    most = max(sums, default=0.0)
    if not most:
        return list(scores)
    return [own if own.turns is None else replace(own, turns=tuple(v / most for v in turns)) for own, turns in known]
