"""Drop groups whose siblings all have equal rewards."""

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Selector
from handaxe.core.records import RatedGroup
from handaxe.ops.ragged import group_rewards, resolve_channel
from handaxe.ops.returns import Std, standard_deviation
from handaxe.selection.parts.dispositions import drop

__all__ = ["drop_equal_groups"]


def drop_equal_groups(*, tolerance: float = 0.0, channel: str | None = None, std: Std = "sample") -> Selector:
    """Keep groups with differing rewards. Groups with equal rewards have zero advantages.

        keep a group when std(R) > tolerance

    R_i is the outcome plus the per-turn rewards, over all scored siblings, trained or not. With rewards of 0 and 1 and
    tolerance 0 the condition is 0 < number correct < G. The training loop refills the batch if asked to.

    Args:
        tolerance: in units of reward; 0 in DAPO, 1e-3 in SimpleTIR. Rewards equal up to rounding are always equal.
        channel: use this channel of the scores instead of R, such as the accuracy within a shaped reward. Without a
            channel of this name, the only channel named ".../NAME" by a wrapping reward is used; without exactly one of
            these, R.
        std: "sample" (n - 1) or "population" (n); relevant for tolerances above 0 only.

    Returns:
        A selector: [RatedGroup] -> [RatedGroup], the groups kept, unchanged and in order. A group with fewer than two
        scored siblings is dropped.

    Raises:
        InputError: a negative tolerance, or scores that do not fit their group.

    Example:
        rewards (1, 0, 0, 1), (1, 1, 1, 1), (0, 0, 0, 0)  ->  only the first group

    Paper: arXiv:2503.14476 (DAPO), dynamic sampling; with a tolerance, arXiv:2509.02479 (SimpleTIR). Differs: nothing.
    """
    if tolerance < 0:
        raise InputError(f"drop_equal_groups takes a tolerance of at least 0, not {tolerance}")

    def differs(one: RatedGroup) -> bool:
        known = channel is not None and resolve_channel(one.scores, channel) in one.scores.channels
        reward_G = group_rewards(one.group, one.scores, channel=channel if known else None)
        return standard_deviation(reward_G[~np.isnan(reward_G)], std) > tolerance

    def select(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        return [one if differs(one) else drop(one, by="drop_equal_groups") for one in rated]

    return select
