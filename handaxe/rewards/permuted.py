"""Permutes the rewards of a group among the rollouts, as a control.

Idea: a permutation test: progress under permuted rewards is not due to the reward.
"""

from collections.abc import Sequence

import numpy as np

from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.ops.seeds import generator
from handaxe.rewards.parts.combined import Combined
from handaxe.rewards.turns_to_outcome import turns_to_outcome

__all__ = ["permuted"]


def permuted(reward: Reward, *, seed: int = 0) -> Reward:
    """Permute the outcomes among siblings. The reward then carries no information.

        outcome'_i = outcome_p(i), p a permutation drawn from (seed, step, task); per-turn rewards are added first

    Channels are permuted with the outcomes. Rollouts may differ in their number of turns, so per-turn channels are
    permuted over all turns of the group, by one permutation. Permutations apply to the rollouts sorted by id, so their
    order has no effect.

    Args:
        reward: to permute.
        seed: of the permutations.

    Returns:
        A reward without per-turn values. Equal outcomes stay as they are, and a single rollout keeps its own.

    Example:
        outcomes of the rollouts a, b, c are 1, 0, 0 and p = (1, 2, 0)  ->  0, 0, 1
    """

    def merge(group: Group, parts: dict[str, Scores]) -> Scores:
        part = parts["permuted"]
        by_id = np.array(sorted(range(len(group)), key=lambda i: group[i].id))
        source = np.empty(len(group), dtype=np.int64)
        source[by_id] = by_id[generator("shuffled", seed, group.step, group.task.id).permutation(len(group))]
        channels = {name: values[source] for name, values in part.channels.items()}
        turns = {name: _dealt(group, by_id, own, seed) for name, own in part.turn_channels.items()}
        eligible = None if part.eligible is None else part.eligible[source]
        return Scores(part.outcome[source], channels=channels, turn_channels=turns, eligible=eligible)

    return Combined({"permuted": turns_to_outcome(reward)}, merge, keep_channels=False)


def _dealt(group: Group, by_id: np.ndarray, turns: Sequence[np.ndarray], seed: int) -> tuple[np.ndarray, ...]:
    """[N_i] a rollout: the values of all turns of the group, permuted over its turns."""
    counts = [len(turns[i]) for i in by_id]
    values = np.concatenate([np.zeros(0), *[turns[i] for i in by_id]])
    drawn = generator("shuffled turns", seed, group.step, group.task.id).permutation(len(values))
    dealt = np.split(values[drawn], np.cumsum(counts)[:-1])
    place = {int(i): k for k, i in enumerate(by_id)}
    return tuple(dealt[place[i]] for i in range(len(group)))
