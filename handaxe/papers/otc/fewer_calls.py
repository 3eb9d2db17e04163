"""Reward scaled by tool efficiency: fewest sufficient calls over calls made."""

from collections.abc import Mapping
from math import cos, pi, sin
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.ops.stateful_composite import StatefulComposite
from handaxe.rewards.parts.checks import outcome_only, validate_scores

__all__ = ["FewerCalls", "fewer_calls"]


def fewer_calls(
    *, base: Reward, smooth: float, alpha: float = 1.0, hindsight: bool = True, correct_above: float = 0.0
) -> "FewerCalls":
    """Multiply a reward by an efficiency that peaks at the fewest calls with which the task was ever solved.

        R_i = alpha * tool_i * base_i if base_i > 0, else alpha * base_i: efficiency does not change a penalty
        m_i = calls of trajectory i,  c = smooth
        n   = least m_j over siblings j with base_j > correct_above, and over all earlier groups of this task
        f   = 0 if m_i = n = 0;   m_i if n = 0;   2 * n * m_i / (m_i + n) otherwise
        tool_i = 1                                 if f = n = 0
                 cos(m_i * pi / (2 * m_i + c))     if n = 0 and m_i > 0
                 sin(f * pi / (2 * n))             otherwise: 1 at m_i = n, less for fewer and for more
    Without hindsight (for PPO, which has no siblings):
        tool_i = cos(m_i * pi / (2 * m_i + c)),    1 at m_i = 0

    Args:
        base: reward of the answer, 0 or less for a wrong one.
        smooth: c > 0; the larger, the slower the decay. The paper sets it to the most calls the environment allows.
        alpha: scale of the reward; 1 in the paper.
        hindsight: True is OTC-GRPO, False is OTC-PPO.
        correct_above: a sibling is correct if its base reward is above this.

    Returns:
        A stateful reward with outcome [G] and the channels "base" and "efficiency" (tool_i). With hindsight it stores n
        for each task id; n only falls. A task never solved has no n: its efficiency is 0.

    Raises:
        InputError: a base reward with per-turn values; smooth <= 0.

    Example:
        c = 4, all correct. n = 2: m = 2 -> 1, m = 4 -> sin(2 pi / 3) = 0.8660. n = 0: m = 0 -> 1,
        m = 1 -> cos(pi / 6) = 0.8660, m = 2 -> 0.7071. Without hindsight: m = 4 -> cos(4 pi / 12) = 0.5.
        n = 2 stored: m = 1, wrong -> efficiency 0.8660, R = 0.

    Paper: arXiv:2504.14870 (OTC), the tool reward of OTC-GRPO and OTC-PPO.
    Unconfirmed: alpha = 1 and c = the most calls allowed.
    Differs: the paper's base is 0 or 1; here a negative base is unchanged. The authors' code is not public.
    """
    if not smooth > 0:
        raise InputError(f"fewer_calls has smooth={smooth}; give a positive number, such as the most calls allowed")
    return FewerCalls(base, smooth, alpha, hindsight, correct_above)


class FewerCalls(StatefulComposite):
    """Reward of `fewer_calls`; `least` maps a task id to the fewest calls that solved it."""

    def __init__(self, base: Reward, smooth: float, alpha: float, hindsight: bool, correct_above: float):
        self.least: dict[str, int] = {}
        self._base = base
        self._smooth = smooth
        self._alpha = alpha
        self._hindsight = hindsight
        self._correct_above = correct_above

    def __call__(self, group: Group) -> Scores:
        base = outcome_only(validate_scores(self._base(group), group, "base"), "base")
        calls = [len(trajectory.calls) for trajectory in group]
        if self._hindsight:
            solved = [m for m, value in zip(calls, base.outcome) if value > self._correct_above]
            known = [self.least[group.task.id]] if group.task.id in self.least else []
            n = min(solved + known, default=None)
            if n is not None:
                self.least[group.task.id] = n
            efficiency = [0.0 if n is None else _against_least(m, n, self._smooth) for m in calls]
        else:
            efficiency = [_decay(m, self._smooth) for m in calls]
        tool = np.array(efficiency, dtype=np.float64)
        inner = {f"base/{name}": value for name, value in base.channels.items()}
        channels = {"base": base.outcome, "efficiency": tool} | inner
        earned = np.where(base.outcome > 0, tool * base.outcome, base.outcome)
        return Scores(self._alpha * earned, channels=channels, eligible=base.eligible)

    def parts(self) -> Mapping[str, object]:
        return {"base": self._base}

    def state_dict(self) -> dict[str, Any]:
        return {"least": dict(self.least)} | super().state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.least = dict(state["least"])
        super().load_state_dict(state)


def _decay(m: int, smooth: float) -> float:
    return cos(m * pi / (2 * m + smooth))


def _against_least(m: int, n: int, smooth: float) -> float:
    if n == 0:
        return _decay(m, smooth)  # 1 at m = 0
    f = 2 * n * m / (m + n)
    return sin(f * pi / (2 * n))
