"""Keep the attempts that went well, for a policy to learn from."""

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
    """Train on the siblings that earned enough with as many calls as are wanted, none of them twice.

        trained_i = trained_i  and  R_i > above  and  least_calls <= calls_i <= most_calls
                    and no such sibling with a lower `sample` wrote the same
                    and fewer than `most` such siblings have a lower `sample`

    R_i is the outcome plus the per-turn rewards; siblings that were not scored (outcome NaN) are left out. Groups
    without a sibling left are dropped. Rejection sampling is `teach(source=played(...), select=keep_successes())`.

    Args:
        above: in units of reward.
        channel: look at this channel of the scores instead, such as the accuracy within a shaped reward; where there is
            none of that name, at the only one that a reward around it calls ".../NAME".
        least_calls: well-formed calls, >= 0.
        most_calls: None for no bound; Tool-Star's beta, 5 (unconfirmed).
        most: siblings of a group, >= 1; None for all.
        best: of more than `most`, and of those that wrote the same, those that earned the most are the first, and the
            lower `sample` decides among equals: what B-STaR selects.

    Returns:
        A selector: [RatedGroup] -> [RatedGroup], the groups kept, in order.

    Raises:
        InputError: bounds out of order, `most` below 1, or a channel that some group lacks.

    Example:
        R = 1, 1, 0, 1, where the second wrote what the first did and the last made six calls, most_calls 5
        ->  the first alone trains
        R = 0.6, 1.2, 0.9, most 2, best  ->  the second and the third train

    Paper: arXiv:2505.16410 (Tool-Star), its quality normalisation; also the rejection sampling of arXiv:2510.27569
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
        for i in sorted(np.flatnonzero(~np.isnan(reward_G)), key=lambda i: _place(one, reward_G, int(i))):
            calls, said = len(one.group[i].calls), _said(one.group[i])
            able = one.trained[i] and reward_G[i] > above and calls >= least_calls
            if not able or (most_calls is not None and calls > most_calls) or said in seen or len(seen) == most:
                continue
            seen.add(said)
            good_G[i] = True
        return good_G

    return select


def _said(one: Trajectory) -> tuple[tuple[str, ...], ...]:
    """Every turn's text and calls."""
    return tuple((turn.parsed.text, *map(call_key, turn.parsed.calls)) for turn in one.turns)
