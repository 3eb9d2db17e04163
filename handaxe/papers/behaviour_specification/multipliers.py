"""Lagrange multipliers of behaviours, normalised by a softmax and learned between steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.records import RatedGroup

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Constraint", "Multipliers", "multipliers"]

BETAS = (0.9, 0.999)
EPS = 1e-5
"""Of Adam, as in the released code."""


class Constraint(NamedTuple):
    """Bound on the share of rollouts with a behaviour: at most the threshold, or at least."""

    threshold: float
    at_least: bool = False


def multipliers(
    constraints: Mapping[str, Constraint], *, task: str, rate: float = 0.03, learns: bool = True, fixed: float = 0.0
) -> Multipliers:
    """Learn weights of task and behaviours so that the shares of behaviours keep their thresholds.

        lambda   = softmax(z_0, z_1, ..., z_K)                  z_0 of the task, z = 0 at first
        reward   = w_0 R - sum over upper bounds of lambda_k c_k + sum over lower bounds of lambda_k c_k
        w_0      = max(lambda_0, lambda_b) if success b of the task is bounded from below, else lambda_0
        z       <- Adam ascent on sum_k lambda_k v_k            after each step, through the softmax
        v_k      = mean c_k - threshold_k for an upper bound, threshold_k - mean c_k for a lower one

    c_k is 0 or 1 for each rollout. A violated constraint gains weight from all others, a kept one returns weight. The
    multipliers sum to 1, so that a long violation makes no large reward. The constraint on success is the bootstrap
    constraint: while success is rare, its multiplier grows and the task counts more. The reward of a step uses the
    weights of the step before.

    Args:
        constraints: channel of the reward -> bound.
        task: channel of the task's reward; in `constraints` for a bootstrap constraint, R is 0 or 1 then.
        rate: of Adam, > 0.
        learns: False measures violations and keeps fixed weights: 1 of the task, -fixed of the upper bounds.
        fixed: see `learns`, 0 or more.

    Returns:
        A learner. `weight(name)` is a weight for `rewards.weighted`. Metrics: weight/NAME after the update,
        share/NAME, violation/NAME (v_k), broken (number of violated constraints), moved (largest change of a
        multiplier).

    Raises:
        InputError: no constraint, a threshold outside [0, 1], a rate that is not above 0, an upper bound on the task,
            fixed weights that are negative, infinite or given to learned multipliers; a group without one of the
            channels, or with a channel that is no indicator.

    Example:
        two upper bounds, multipliers 1/3 each, violations 0.2 and 0: gradient of z_1 is 1/3 (0.2 - 0.2 / 3) = 0.0444,
        of z_0 and z_2 -0.0222
        one step of Adam moves z by the rate along the signs, with 0.1: z = (-0.1, 0.1, -0.1)  ->  lambda_1 = 0.3791

    Paper: arXiv:2112.12228 (Direct Behaviour Specification), normalised multipliers and bootstrap constraint; Adam and
        its epsilon and rate are in line with the released code.
    Differs: one update a step, of the step's rollouts; the code has one update in ten updates of the policy. Shares are
        of rollouts instead of steps, without a discount. One reward has all weights; the code has a critic for each
        constraint.
    """
    if not constraints or not rate > 0:
        raise InputError(f"constraints are {sorted(constraints)} and rate is {rate}; give one or more, and above 0")
    wrong = {name: one.threshold for name, one in constraints.items() if not 0 <= one.threshold <= 1}
    if wrong:
        raise InputError(f"thresholds {wrong} are no shares; give numbers from 0 to 1")
    if task in constraints and not constraints[task].at_least:
        raise InputError(f"the bound on {task!r} is an upper one; give Constraint(threshold, at_least=True)")
    if not 0 <= fixed < float("inf") or (learns and fixed):
        raise InputError(f"the fixed weight is {fixed}; give 0 or more, and only without learning")
    return Multipliers(dict(constraints), task, rate, learns, fixed)


class Multipliers:
    """Learner made by `multipliers`; `logits` has z, the task's first."""

    def __init__(self, constraints: dict[str, Constraint], task: str, rate: float, learns: bool, fixed: float):
        self.logits = [0.0] * (len(constraints) + 1)
        self._constraints = constraints
        self._task = task
        self._rate = rate
        self._learns = learns
        self._fixed = fixed
        self._first = [0.0] * len(self.logits)
        self._second = [0.0] * len(self.logits)
        self._steps = 0

    def weight(self, name: str) -> Callable[[int], float]:
        """Function of the step with the present weight of a channel: negative for an upper bound."""

        def present(step: int) -> float:
            del step
            return self._weight(name)

        return present

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Move the multipliers by the violations of the groups' rollouts."""
        del step
        shares = {name: share for name in self._constraints if (share := self._share(name, groups)) is not None}
        violations = {name: self._violation(name, share) for name, share in shares.items()}
        before_K = self._multipliers()
        if self._learns and violations:
            self._ascend([violations.get(name, 0.0) for name in self._constraints])
        found = {f"share/{name}": share for name, share in shares.items()}
        found |= {f"violation/{name}": value for name, value in violations.items()}
        found |= {f"weight/{name}": self._weight(name) for name in dict.fromkeys([self._task, *self._constraints])}
        moved = float(np.abs(self._multipliers() - before_K).max())
        return found | {"broken": float(sum(value > 0 for value in violations.values())), "moved": moved}

    def state_dict(self) -> dict[str, Any]:
        return {"logits": self.logits, "first": self._first, "second": self._second, "steps": self._steps}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.logits = [float(value) for value in state["logits"]]
        self._first = [float(value) for value in state["first"]]
        self._second = [float(value) for value in state["second"]]
        self._steps = int(state["steps"])

    def _multipliers(self) -> np.ndarray:
        """Softmax of z, the task's first."""
        lambda_K = np.exp(np.array(self.logits) - max(self.logits))
        return lambda_K / lambda_K.sum()

    def _weight(self, name: str) -> float:
        if not self._learns:
            return 1.0 if name == self._task else -self._fixed * (not self._constraints[name].at_least)
        task, *others = self._multipliers().tolist()
        own = dict(zip(self._constraints, others, strict=True)).get(name, 0.0)
        if name == self._task:
            return float(max(task, own) + own)
        return float(own if self._constraints[name].at_least else -own)

    def _violation(self, name: str, share: float) -> float:
        one = self._constraints[name]
        return one.threshold - share if one.at_least else share - one.threshold

    def _share(self, name: str, groups: Sequence[RatedGroup]) -> float | None:
        """Mean of a channel over the scored rollouts of all groups; None without one."""
        values = list[float]()
        for one in groups:
            if name not in one.scores.channels:
                raise InputError(f"the reward has no channel {name!r}; give rewards.weighted this component")
            values += [float(value) for value in one.scores.channels[name] if np.isfinite(value)]
        if not set(values) <= {0.0, 1.0}:
            raise InputError(f"channel {name!r} has values other than 0 and 1; give the indicator of a behaviour")
        return float(np.mean(values)) if values else None

    def _ascend(self, violations: Sequence[float]) -> None:
        """One step of Adam on the softmax-weighted sum of violations."""
        logits = self._tensor(self.logits).requires_grad_()
        goal = torch.softmax(logits, 0)[1:] @ self._tensor(violations)
        goal.backward()
        optimizer = torch.optim.Adam([logits], lr=self._rate, betas=BETAS, eps=EPS, maximize=True)
        optimizer.state[logits] = {
            "step": torch.tensor(float(self._steps)),
            "exp_avg": self._tensor(self._first),
            "exp_avg_sq": self._tensor(self._second),
        }
        optimizer.step()
        self.logits = logits.detach().tolist()
        self._first = optimizer.state[logits]["exp_avg"].tolist()
        self._second = optimizer.state[logits]["exp_avg_sq"].tolist()
        self._steps += 1

    @staticmethod
    def _tensor(values: Sequence[float]) -> Tensor:
        return torch.tensor(list(values), dtype=torch.float64)
