"""Self-imitation: replays past rollouts with advantages recomputed against recent rewards."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Selector
from handaxe.core.records import Advantages, Group, RatedGroup, Trajectory
from handaxe.ops.ragged import group_rewards
from handaxe.ops.returns import standard_deviation
from handaxe.ops.seeds import generator
from handaxe.ops.stateful_composite import StatefulComposite
from handaxe.selection.keep_all import keep_all
from handaxe.selection.parts.dispositions import apply_selector, live
from handaxe.selection.parts.stored import dump, load, stored_reward, stored_sibling

__all__ = ["REPLAYED", "SelfImitation", "made_a_call", "self_imitation"]

REPLAYED = "replayed"
"""Feature, 1 at every token of a replayed rollout that the policy wrote, for losses."""
FULL = 1.5
KEEP_ALL = keep_all()


def made_a_call(trajectory: Trajectory) -> bool:
    """Check that a trajectory has a well-formed call."""
    return bool(trajectory.calls)


def self_imitation(
    *,
    capacity: int = 2048,
    tolerate: int = 5,
    history: int = 10240,
    weight: float | Callable[[int], float] = 1.0,
    normalise: bool = False,
    recalibrate: bool = True,
    channel: str | None = None,
    worth: Callable[[Trajectory], bool] = made_a_call,
    select: Selector = KEEP_ALL,
    seed: int = 0,
) -> Selector:
    """Collect rollouts of positive advantage, and replay them as a batch once there are enough.

        every step:  H <- mean(R) of each group played, the last `history` of them;  b = median(H)
                     store trajectory i if it trains, A_i > 0 and worth(i);  drop those over `tolerate` steps old
        if #{stored: R_i > b} > 1.5 capacity:
                     A'_i = R_i - b          (/ median of the groups' std(R), with `normalise`)
                     sample n of those with A'_i > 0, n the largest power of 2 <= min(capacity, their number)
                     train them with weight(step) A'_i, after the rest of this step; drop everything stored

    A_i is the mean advantage of the trained tokens of trajectory i, which get A'; R_i is the outcome plus the per-turn
    rewards. Each replayed rollout is a group of one with the highest `part`, so that `train` gives them separate
    optimizer steps. Ids, weight versions and old log-probs stay those of sampling: the ratio is off-policy, and a clip
    bounds it. If `train` annotates, old_logp is not recomputed; every other feature is. The feature "replayed" is 1 at
    their tokens.

    Args:
        capacity: maximum rollouts of one replay, >= 1; 2048 in the paper.
        tolerate: steps, >= 0; 5 in the released code, 10 at most.
        history: groups, >= 1; 10240 in the paper.
        weight: gamma_SIL of the step; the paper's is training.loop.schedule.cosine(0.0, steps=T, floor=1.0), which
            rises from 0 to 1, T = 100 to 300. At weight 0 nothing is replayed, and stored rollouts are dropped.
        normalise: divide by the standard deviation, as a credit with std does.
        recalibrate: False replays the stored advantages, the paper's ablation.
        channel: read this channel of the scores instead of the whole reward; if it does not exist, the only channel
            named ".../NAME" by an outer reward.
        worth: trajectory -> whether it is stored; the paper requires a tool call.
        select: selector of the sampled groups. It is an argument instead of a part of a pipe, since H and the store
            cover all groups, dropped ones included, and since it must not drop replayed rollouts. A rollout that it
            masks is not stored.
        seed: of the sampling, which depends on the step alone.

    Returns:
        A stateful selector: [RatedGroup] -> [RatedGroup], the groups of `select`, then the replayed ones with the ids
        STORED/replay/STEP. Unscored siblings (outcome NaN) are ignored. The store holds at most the rollouts of
        `tolerate` + 1 steps.

    Raises:
        InputError: a number out of range, or a weight that is negative or not finite.

    Example:
        groups of mean 0.2, 0.4, 0.6 -> b = 0.4; stored R = 1, 0.3 -> A' = 0.6, -0.1: only the first is replayed
        cosine(0.0, steps=300, floor=1.0) at 0, 75, 150, 300  ->  weight 0, 0.1464, 0.5, 1

    Paper: arXiv:2509.22601 (SPEAR), self-imitation with advantage recalibration.
    Differs: a replay has as many optimizer steps as the epochs and minibatches of `train`; rollouts of the current step
    may be replayed.
    """
    if capacity < 1 or tolerate < 0 or history < 1:
        raise InputError(
            f"capacity is {capacity}, tolerate {tolerate} and history {history}; give 1 or more, 0 or more, 1 or more"
        )
    return SelfImitation(capacity, tolerate, history, weight, normalise, recalibrate, channel, worth, select, seed)


class SelfImitation(StatefulComposite):
    """Selector of `self_imitation`; `stored` lists the stored rollouts, oldest first."""

    def __init__(
        self,
        capacity: int,
        tolerate: int,
        history: int,
        weight: float | Callable[[int], float],
        normalise: bool,
        recalibrate: bool,
        channel: str | None,
        worth: Callable[[Trajectory], bool],
        select: Selector,
        seed: int,
    ):
        self.stored: list[RatedGroup] = []
        self._means, self._stds = deque[float](maxlen=history), deque[float](maxlen=history)
        self._capacity = capacity
        self._tolerate = tolerate
        self._weight = weight
        self._normalise = normalise
        self._recalibrate = recalibrate
        self._channel = channel
        self._worth = worth
        self._select = select
        self._seed = seed

    def __call__(self, rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        selected = apply_selector(self._select, rated)
        if not rated:
            return selected
        step = max(one.group.step for one in rated)
        self._observe(rated)
        masked = {one.group[int(i)].id for one in live(selected) for i in np.flatnonzero(~one.trained)}
        self.stored = [one for one in self.stored if step - one.group.step <= self._tolerate]
        self.stored += [stored for one in rated for stored in self._successes(one, masked)]
        above = [stored_reward(one, channel=self._channel) - self._baseline() for one in self.stored]
        if sum(value > 0 for value in above) <= FULL * self._capacity:
            return selected
        part = 1 + max(one.part for one in [*rated, *selected])
        replayed = [replace(one, part=part) for one in self._replay(step, above)]
        self.stored = []
        return selected + replayed

    def parts(self) -> Mapping[str, object]:
        return {"select": self._select}

    def state_dict(self) -> dict[str, Any]:
        stored = [dump(one) for one in self.stored]
        own = {"stored": stored, "means": list(self._means), "stds": list(self._stds)}
        return own | super().state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.stored = [load(one) for one in state["stored"]]
        self._means = deque(state["means"], self._means.maxlen)
        self._stds = deque(state["stds"], self._stds.maxlen)
        super().load_state_dict(state)

    def _observe(self, rated: Sequence[RatedGroup]) -> None:
        for one in rated:
            reward_G = group_rewards(one.group, one.scores, channel=self._channel)
            reward_G = reward_G[~np.isnan(reward_G)]
            if len(reward_G):
                self._means.append(float(reward_G.mean()))
                self._stds.append(standard_deviation(reward_G))

    def _successes(self, one: RatedGroup, masked: set[str]) -> list[RatedGroup]:
        places = [int(i) for i in np.flatnonzero(one.trained & ~np.isnan(one.scores.outcome))]
        return [
            stored_sibling(one, i)
            for i in places
            if one.group[i].id not in masked and _mean_advantage(one, i) > 0 and self._worth(one.group[i])
        ]

    def _baseline(self) -> float:
        return float(np.median(self._means)) if self._means else 0.0

    def _replay(self, step: int, above: Sequence[float]) -> list[RatedGroup]:
        """Sample replayed groups from the stored ones, given the distances to the baseline."""
        weight = self._weight(step) if callable(self._weight) else self._weight
        if not 0 <= weight < np.inf:
            raise InputError(f"self_imitation has the weight {weight} at step {step}; give 0 or more")
        scale = weight / (float(np.median(self._stds)) + 1e-6) if self._normalise else weight
        chosen = [i for i, value in enumerate(above) if value > 0 or not self._recalibrate]
        if not chosen or not weight:
            return []
        count = 2 ** (min(self._capacity, len(chosen)).bit_length() - 1)
        drawn = generator("self_imitation", self._seed, step).choice(len(chosen), count, replace=False)
        picked = [chosen[k] for k in sorted(drawn.tolist())]
        given = {i: scale * above[i] if self._recalibrate else None for i in picked}
        return [_again(self.stored[i], step, value, weight) for i, value in given.items()]


def _mean_advantage(one: RatedGroup, index: int) -> float:
    pairs = zip(one.advantages.tokens[index], one.training_mask(index), strict=True)
    found = np.concatenate([adv_T[mask_T] for adv_T, mask_T in pairs])
    return float(found.mean()) if len(found) else 0.0


def _again(stored: RatedGroup, step: int, value: float | None, weight: float) -> RatedGroup:
    """A stored rollout with a new advantage at trained tokens, or with `weight` times the stored advantages."""
    trajectory = stored.group[0]
    marked = tuple(
        replace(one, features={**one.features, REPLAYED: one.mask.astype(np.float64)}) for one in trajectory.sequences
    )
    replayed = replace(trajectory, id=f"{trajectory.id}/replay/{step}", sequences=marked)
    tokens = tuple(
        np.where(mask_T, weight * old_T if value is None else value, 0.0)
        for old_T, mask_T in zip(stored.advantages.tokens[0], stored.training_mask(0), strict=True)
    )
    group = Group(stored.group.task, (replayed,), stored.group.step)
    advantages = Advantages((tokens,), stored.advantages.returns, stored.advantages.trains)
    return replace(stored.with_group(group), advantages=advantages)
