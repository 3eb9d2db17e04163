"""Masks trajectories by a channel of the scores."""

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Selector
from handaxe.core.records import RatedGroup
from handaxe.ops.ragged import group_rewards
from handaxe.selection.parts.dispositions import mask

__all__ = ["mask_by_channel"]


def mask_by_channel(*, channel: str | None = None, above: float = 0.0) -> Selector:
    """Mask trajectories for which a channel of the scores is not above a bound.

        trained_i' = trained_i and channel_i > above

    All tokens of a masked trajectory leave the loss and its denominators. It stays in the group, and its score stays in
    the statistics of its siblings. An unscored trajectory (NaN) does not train.

    Args:
        channel: of the scores, such as the format of a `weighted` reward; if it does not exist, the only channel named
            ".../NAME" by an outer reward. None: the whole reward.
        above: bound, in the channel's unit.

    Returns:
        A selector: [RatedGroup] -> [RatedGroup], the same groups in the same order, `trained` [G] cleared where not
        above.

    Raises:
        InputError: a bound that is not finite, or a channel that some group lacks.

    Example:
        format 1, 0, 1 of siblings that all train  ->  trained True, False, True

    Paper: arXiv:2511.21689 (ToolOrchestra), its masks for malformed calls and missing answers.
    Differs: nothing.
    """
    if not np.isfinite(above):
        raise InputError(f"mask_by_channel has above={above}; give a finite number")

    def select(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        out = []
        for one in rated:
            values_G = group_rewards(one.group, one.scores, channel=channel)
            out.append(mask(one, values_G > above, by="mask_by_channel"))
        return out

    return select
