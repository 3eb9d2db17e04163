"""Deals the outcomes of a group out to its attempts anew, as a control.

Idea: a permutation test: what is still learned so, the reward did not teach.
"""

from collections.abc import Sequence

import numpy as np

from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.ops.seeds import generator
from handaxe.rewards.parts.combined import Combined
from handaxe.rewards.total import total

__all__ = ["shuffled"]


def shuffled(reward: Reward, *, seed: int = 0) -> Reward:
    """Permute the outcomes among siblings, so that the reward says nothing of an attempt.

        outcome'_i = outcome_p(i), p a permutation drawn from (seed, step, task); per-turn rewards are added in first

    Channels move along with the outcomes. Attempts may differ in their number of turns, so per-turn channels are dealt
    out anew over all turns of the group, by one permutation for all of them. Permutations are of the attempts sorted by
    id, so that their order makes no difference.

    Args:
        reward: what is dealt out.
        seed: of the permutations.

    Returns:
        A reward without per-turn values. Equal outcomes stay as they are, and a lone attempt keeps its own.

    Example:
        outcomes of the attempts a, b, c are 1, 0, 0 and p = (1, 2, 0)  ->  0, 0, 1
    """

    def merge(group: Group, parts: dict[str, Scores]) -> Scores:
        part = parts["shuffled"]
        by_id = np.array(sorted(range(len(group)), key=lambda i: group[i].id))
        source = np.empty(len(group), dtype=np.int64)
        source[by_id] = by_id[generator("shuffled", seed, group.step, group.task.id).permutation(len(group))]
        channels = {name: values[source] for name, values in part.channels.items()}
        turns = {name: _dealt(group, by_id, own, seed) for name, own in part.turn_channels.items()}
        eligible = None if part.eligible is None else part.eligible[source]
        return Scores(part.outcome[source], channels=channels, turn_channels=turns, eligible=eligible)

    return Combined({"shuffled": total(reward)}, merge, keep_apart=False)


def _dealt(group: Group, by_id: np.ndarray, turns: Sequence[np.ndarray], seed: int) -> tuple[np.ndarray, ...]:
    """[N_i] an attempt: the values of all turns of the group, over them anew."""
    counts = [len(turns[i]) for i in by_id]
    values = np.concatenate([np.zeros(0), *[turns[i] for i in by_id]])
    drawn = generator("shuffled turns", seed, group.step, group.task.id).permutation(len(values))
    dealt = np.split(values[drawn], np.cumsum(counts)[:-1])
    place = {int(i): k for k, i in enumerate(by_id)}
    return tuple(dealt[place[i]] for i in range(len(group)))
