"""Advantage transform with higher weights for hard tasks and hard families of tasks."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import AdvantageTransform
from handaxe.core.records import RatedGroup, Task
from handaxe.ops.ragged import group_rewards, scale_tokens

__all__ = ["DifficultyWeight", "difficulty_weight"]

OfTask = Literal["linear", "exponential"]


def difficulty_weight(
    *,
    family: str | None = None,
    of_task: OfTask = "linear",
    decay: float = 0.9,
    temperature: float = 1.0,
    strength: float = 1.0,
    low: float = 0.5,
    high: float = 2.0,
    channel: str | None = None,
) -> AdvantageTransform:
    """Scale advantages up on tasks with low mean reward, and down on the others.

        A'_i,t = w A_i,t        w = clip(w_family(k) * w_task(q), low, high)        task q, of family k
        w_family(k) = exp(-m_k / temperature) / mean over the batch's groups of exp(-m / temperature)
        w_task(q)   = 1 + strength (1 - p_q)        "linear", or exp((1/2 - p_q) / strength)        "exponential"

    p_q is the mean reward of the group, m_k a running mean over steps of the p of family k: decay m_k + (1 - decay)
    times their mean in this batch; the first batch sets it. Rewards are those of every scored sibling, outcome plus
    per-turn rewards; the weights assume rewards from 0 to 1. Value targets, channels and masks stay as they are.

    Args:
        family: metadata key of a task's family, such as "difficulty"; None: all tasks are one family.
        of_task: form of w_task.
        decay: of the running mean, in [0, 1).
        temperature: of families, > 0, in units of reward; higher values make the weights more equal.
        strength: of w_task: slope of "linear", >= 0; temperature, > 0, of "exponential".
        low, high: bounds of the weight, 0 <= low <= high.
        channel: score channel in place of the whole reward, such as the accuracy in it.

    Returns:
        A stateful advantage transform: rated groups -> rated groups, in the same order. Groups without a scored rollout
        do not count. A lone sibling is a group; a group without advantages stays without.

    Raises:
        InputError: a number out of range, an unknown `of_task`, a channel that some group lacks. TaskError: a task with
            a missing family, or one that is no text.

    Example:
        one family: p 0.25, A 1.5  ->  w 1.75, A' 2.625;   p 0.75, A 0.5  ->  w 1.25, A' 0.625
        two families, one group each, m 0.25 and 0.75, strength 0: w 1.2449 and 0.7551

    Paper: arXiv:2508.04416 (VITAL), DGRPO.
    Unconfirmed: the whole formula, of which the abstract states only that the difficulty of tasks and of samples
    weighs; and that m_k includes the present batch.
    Differs: nothing known.
    """
    if of_task not in ("linear", "exponential"):
        raise InputError(f"difficulty_weight takes of_task='linear' or 'exponential', not {of_task!r}")
    if not 0 <= decay < 1 or temperature <= 0 or not 0 <= low <= high:
        raise InputError(
            f"decay is {decay}, temperature {temperature}, low {low} and high {high}; give 0 to below 1, above 0, and "
            "bounds from 0 in order"
        )
    if strength < 0 or (of_task == "exponential" and not strength):
        raise InputError(f"strength is {strength}; give 0 or more, and above 0 where of_task is 'exponential'")
    return DifficultyWeight(family, of_task, decay, temperature, strength, low, high, channel)


class DifficultyWeight:
    """Transform made by `difficulty_weight`; `means` has the running mean of each family."""

    def __init__(
        self,
        family: str | None,
        of_task: OfTask,
        decay: float,
        temperature: float,
        strength: float,
        low: float,
        high: float,
        channel: str | None,
    ):
        self.means: dict[str, float] = {}
        self._family = family
        self._of_task = of_task
        self._decay = decay
        self._temperature = temperature
        self._strength = strength
        self._low = low
        self._high = high
        self._channel = channel

    def __call__(self, rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        families = [self._family_of(one.group.task) for one in rated]
        earned = [self._mean(one) for one in rated]
        self._observe(families, earned)
        scored = [np.exp(-self.means[k] / self._temperature) for k, p in zip(families, earned) if not np.isnan(p)]
        out = []
        for one, family, p in zip(rated, families, earned, strict=True):
            if np.isnan(p):
                out.append(one)
                continue
            of_family = np.exp(-self.means[family] / self._temperature) / np.mean(scored)
            weight = float(np.clip(of_family * self._of(p), self._low, self._high))
            tokens = scale_tokens(one.advantages.tokens, weight)
            out.append(replace(one, advantages=replace(one.advantages, tokens=tokens)))
        return out

    def state_dict(self) -> dict[str, Any]:
        return {"means": dict(self.means)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.means = dict(state["means"])

    def _observe(self, families: Sequence[str], earned: Sequence[float]) -> None:
        for family in dict.fromkeys(families):
            own = [p for name, p in zip(families, earned, strict=True) if name == family and not np.isnan(p)]
            if own:
                now = float(np.mean(own))
                before = self.means.get(family, now)
                self.means[family] = self._decay * before + (1 - self._decay) * now

    def _of(self, p: float) -> float:
        if self._of_task == "linear":
            return 1 + self._strength * (1 - p)
        return float(np.exp((0.5 - p) / self._strength))

    def _mean(self, one: RatedGroup) -> float:
        reward_G = group_rewards(one.group, one.scores, channel=self._channel)
        reward_G = reward_G[~np.isnan(reward_G)]
        return float(reward_G.mean()) if len(reward_G) else float("nan")

    def _family_of(self, task: Task) -> str:
        if self._family is None:
            return ""
        name = task.metadata.get(self._family)
        if not isinstance(name, str):
            raise TaskError(f"task {task.id!r} has {name!r} as metadata {self._family!r}; give the name of its family")
        return name
