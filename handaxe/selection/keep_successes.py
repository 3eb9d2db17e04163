"""Rejection sampling: keep successful rollouts."""

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Selector
from handaxe.core.records import RatedGroup, Trajectory
from handaxe.ops.ragged import group_rewards
from handaxe.ops.tool_calls import call_key
from handaxe.selection.parts.dispositions import drop, mask

__all__ = ["keep_successes"]


def keep_successes(
    *,
    above: float = 0.5,
    channel: str | None = None,
    least_calls: int = 0,
    most_calls: int | None = None,
    most: int | None = None,
    best: bool = False,
) -> Selector:
    """Train on distinct siblings with high reward and an accepted number of calls.

        trained_i = trained_i  and  R_i > above  and  least_calls <= calls_i <= most_calls
                    and no such sibling with a lower `sample` has the same texts and calls
                    and fewer than `most` such siblings have a lower `sample`

    R_i is the outcome plus the per-turn rewards; unscored siblings (outcome NaN) are left out. Groups without a
    remaining sibling are dropped. Rejection sampling is `teach(source=played(...), select=keep_successes())`.

    Args:
        above: in units of reward.
        channel: use this channel of the scores instead of R, such as the accuracy within a shaped reward. Without a
            channel of this name, the only channel named ".../NAME" by a wrapping reward is used.
        least_calls: well-formed calls, >= 0.
        most_calls: None for no bound; Tool-Star's beta, 5 (unconfirmed).
        most: siblings of a group, >= 1; None for all.
        best: order candidates and duplicates by decreasing reward, ties by lower `sample`, as B-STaR selects.

    Returns:
        A selector: [RatedGroup] -> [RatedGroup], the groups kept, in order.

    Raises:
        InputError: bounds out of order, `most` below 1, or a channel missing from a group.

    Example:
        R = 1, 1, 0, 1, the second equal in text to the first, the last with six calls, most_calls 5
        ->  only the first trains
        R = 0.6, 1.2, 0.9, most 2, best  ->  the second and the third train

    Paper: arXiv:2505.16410 (Tool-Star), quality normalisation; also the rejection sampling of arXiv:2510.27569
    (MARAG-R1), and with `best` the selection of arXiv:2412.17256 (B-STaR).
    Unconfirmed: beta.
    Differs: nothing.
    """
    out_of_order = most_calls is not None and most_calls < least_calls
    if least_calls < 0 or out_of_order or (most is not None and most < 1):
        raise InputError(
            f"least_calls is {least_calls}, most_calls {most_calls} and most {most}; give 0 or more, as many or more, "
            "and 1 or more"
        )

    def select(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        good = [_good(one) for one in rated]
        return [
            mask(one, good_G, by="keep_successes") if good_G.any() else drop(one, by="keep_successes")
            for one, good_G in zip(rated, good, strict=True)
        ]

    def _place(one: RatedGroup, reward_G: np.ndarray, i: int) -> tuple[float, int, str]:
        return -float(reward_G[i]) if best else 0.0, one.group[i].sample, one.group[i].id

    def _good(one: RatedGroup) -> np.ndarray:
        reward_G = group_rewards(one.group, one.scores, channel=channel)
        good_G = np.zeros(len(one.group), bool)
        seen = set[tuple[tuple[str, ...], ...]]()
        for i in sorted(np.flatnonzero(~np.isnan(reward_G)).tolist(), key=lambda i: _place(one, reward_G, i)):
            calls, said = len(one.group[i].calls), _said(one.group[i])
            able = one.trained[i] and reward_G[i] > above and calls >= least_calls
            if not able or (most_calls is not None and calls > most_calls) or said in seen or len(seen) == most:
                continue
            seen.add(said)
            good_G[i] = True
        return good_G

    return select


def _said(one: Trajectory) -> tuple[tuple[str, ...], ...]:
    """Return every turn's text and calls."""
    return tuple((turn.parsed.text, *map(call_key, turn.parsed.calls)) for turn in one.turns)
