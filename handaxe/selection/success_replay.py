"""Insert a stored success into a group of failures."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Credit, Selector
from handaxe.core.records import RatedGroup
from handaxe.ops.ragged import group_rewards
from handaxe.ops.returns import standard_deviation
from handaxe.ops.seeds import generator
from handaxe.ops.stateful_composite import has_state
from handaxe.selection.parts.stored import dump, load, stored_reward, stored_sibling, swap_in

__all__ = ["SuccessReplay", "success_replay"]


def success_replay(
    *,
    credit: Credit,
    above: float = 0.1,
    most: int = 8,
    std_below: float = 0.05,
    mean_below: float = 0.2,
    place: Literal["first", "random"] = "first",
    channel: str | None = None,
    tasks: int = 4096,
    seed: int = 0,
) -> Selector:
    """Replace one sibling of an all-failed group by a success of the same task from an earlier step.

        std(R) < std_below and mean(R) < mean_below and the task has stored successes
            ->  sibling k is replaced by a stored one, drawn uniformly, and credit is computed again for the group
        afterwards every trained, freshly played sibling with R_i > above is stored; beyond `most` the oldest leaves

    R_i is the outcome plus the per-turn rewards over all scored siblings; std divides by n - 1. The stored trajectory
    keeps its ids, weight versions, scores, and its sampling log-probs as old_logp, so its importance ratio measures the
    policy's drift since then. If `train` annotates, this old_logp is not recomputed; all other features are. Credit
    sees the stored features.

    Args:
        credit: credit function of the run, for the changed group. It must be stateless.
        above: in units of reward; 0.1 in the paper.
        most: successes stored per task; 8 in the paper.
        std_below, mean_below: in units of reward; 0.05 and 0.2 in the released code.
        place: sibling to replace: the "first" of the group, as in the released code, or a "random" one.
        channel: judge failure and success by this channel of the scores instead of the whole reward. Without a channel
            of this name, the only channel named ".../NAME" by a wrapping reward is used.
        tasks: capacity in tasks; the task with the least recent success is evicted first.
        seed: of the draws. Each draw depends on step and group alone.

    Returns:
        A stateful selector: [RatedGroup] -> [RatedGroup], all groups in order. The inserted sibling has the id
        REPLACED/replay/STORED and trains; the replaced one is recorded, untrained. A group without scored siblings is
        unchanged. A lone sibling may be replaced (and has advantage 0 under most credits).

    Raises:
        InputError: a stateful credit, a number out of range, a stored trajectory from another reward, or a channel
            missing from a group.

    Example:
        R = eight times 0, one success with R = 1 stored, credit group_norm(std="sample"):
        R = 1, 0, 0, 0, 0, 0, 0, 0  ->  mean 0.125, std 0.35355, A = 2.475, -0.35355 (seven times)

    Paper: arXiv:2505.16282 (ARPO), experience replay for groups without reward.
    Differs: replayed trajectories are not stored again, and the number of tasks is bounded.
    """
    if has_state(credit):
        raise InputError("success_replay credits some groups twice, so its credit must keep no state")
    if most < 1 or tasks < 1 or place not in ("first", "random"):
        raise InputError(
            f"most is {most}, tasks {tasks} and place {place!r}: give 1 or more of the former, and 'first' or 'random'"
        )
    return SuccessReplay(credit, above, most, std_below, mean_below, place, channel, tasks, seed)


class SuccessReplay:
    """Selector of `success_replay`; `stored` maps a task id to its successes, oldest first."""

    def __init__(
        self,
        credit: Credit,
        above: float,
        most: int,
        std_below: float,
        mean_below: float,
        place: Literal["first", "random"],
        channel: str | None,
        tasks: int,
        seed: int,
    ):
        self.stored: dict[str, list[RatedGroup]] = {}
        self._credit = credit
        self._above = above
        self._most = most
        self._std_below = std_below
        self._mean_below = mean_below
        self._place = place
        self._channel = channel
        self._tasks = tasks
        self._seed = seed

    def __call__(self, rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        changed = [self._helped(one) for one in rated]
        for one in rated:
            self._store(one)
        return changed

    def state_dict(self) -> dict[str, Any]:
        return {"tasks": [[name, [dump(one) for one in found]] for name, found in self.stored.items()]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.stored = {name: [load(one) for one in found] for name, found in state["tasks"]}

    def _helped(self, one: RatedGroup) -> RatedGroup:
        reward_G = group_rewards(one.group, one.scores, channel=self._channel)
        reward_G = reward_G[~np.isnan(reward_G)]
        found = self.stored.get(one.group.task.id)
        if not found or not len(reward_G):
            return one
        if standard_deviation(reward_G) >= self._std_below or reward_G.mean() >= self._mean_below:
            return one
        rng = generator("success_replay", self._seed, one.group.step, one.group[0].id)
        stored = found[int(rng.integers(len(found)))]
        index = int(rng.integers(len(one.group))) if self._place == "random" else 0
        name = f"{one.group[index].id}/replay/{stored.group[0].id}"
        swapped = swap_in(one, index, stored, id=name, by="success_replay")
        trained_G = one.trained.copy()
        trained_G[index] = True
        return replace(swapped, advantages=self._credit(swapped.group, swapped.scores), trained=trained_G)

    def _store(self, one: RatedGroup) -> None:
        successes = [
            stored
            for i in np.flatnonzero(one.trained)
            if one.group[int(i)].num_tokens
            and stored_reward(stored := stored_sibling(one, int(i)), channel=self._channel) > self._above
        ]
        if successes:
            found = self.stored.pop(one.group.task.id, [])
            self.stored[one.group.task.id] = (found + successes)[-self._most :]
        while len(self.stored) > self._tasks:
            del self.stored[next(iter(self.stored))]
