"""Leave out of the loss every trajectory that a part of its reward says is not fit to learn from."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Selector
from handaxe.core.records import Rated
from handaxe.ops.ragged import rewards_of

__all__ = ["mask_by_channel"]


def mask_by_channel(*, channel: str | None = None, above: float = 0.0) -> Selector:
    """Stop training on trajectories for which a channel of the scores is not above a bound.

        trained_i' = trained_i and channel_i > above

    All tokens of such a trajectory leave the loss and its denominators. It stays in the group, and what it scored
    stays in the statistics that its siblings were judged by. One that was never scored (NaN) does not train.

    Args:
        channel: of the scores, such as the format of a reward that `weighted` made; where there is none of that name,
            the only one that a reward around it calls ".../NAME". None: all that the attempt earned.
        above: bound, in the channel's unit.

    Returns:
        A selector: [Rated] -> [Rated], the same groups in the same order, `trained` [G] cleared where not above.

    Raises:
        InputError: a bound that is not finite, or a channel that some group lacks.

    Example:
        format 1, 0, 1 of siblings that all train  ->  trained True, False, True

    Paper: arXiv:2511.21689 (ToolOrchestra), its masks for calls that break the format and attempts without an answer.
    Differs: nothing.
    """
    if not np.isfinite(above):
        raise InputError(f"mask_by_channel has above={above}; give a finite number")

    def select(rated: Sequence[Rated]) -> list[Rated]:
        out = []
        for one in rated:
            values_G = rewards_of(one.group, one.scores, channel=channel)
            out.append(replace(one, trained=one.trained & (values_G > above)))
        return out

    return select
