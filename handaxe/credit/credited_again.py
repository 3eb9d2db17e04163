"""Asks reward and credit once more, after what learns beside the policy has learned."""

from collections.abc import Sequence
from dataclasses import replace

from handaxe.records import Rated
from handaxe.slots import Credit, Reward, Shape

__all__ = ["credited_again"]


def credited_again(*, reward: Reward, credit: Credit, on: bool = True, then: Shape | None = None) -> Shape:
    """Replace the advantages of what was selected by those under the judge of now.

        A' = credit(group, reward(group))        of every group, as `train` calls a shape after its learners

    Within a step `train` rewards and credits first and lets the judge learn afterwards, so that its scores are those of
    the weights before (iStar's released setting, update after). This is the other order. The scores that are recorded
    stay the first ones; a selector has seen those too.

    Args:
        reward: what `train` has; asked a second time, so without memory of its own.
        credit: what `train` has; without memory and value targets.
        on: False leaves everything as it is.
        then: a further shape, which is applied to what comes of it.

    Returns:
        A shape: [Rated] -> [Rated]. Which tokens and attempts train, value targets and channels stay as they are. Not
        for `self_imitation`, whose groups of one would be credited anew.

    Example:
        on outcomes 1, 0 that have become 0, 1 since, under leave_one_out()  ->  -1, 1 instead of 1, -1

    Paper: arXiv:2509.19199 (iStar), whose PRM is refreshed before or after it scores.
    Differs: nothing.
    """

    def shape(rated: Sequence[Rated]) -> Sequence[Rated]:
        shaped = [_again(one) for one in rated] if on else list(rated)
        return shaped if then is None else then(shaped)

    def _again(one: Rated) -> Rated:
        tokens = credit(one.group, reward(one.group)).tokens
        return replace(one, advantages=replace(one.advantages, tokens=tokens))

    return shape
