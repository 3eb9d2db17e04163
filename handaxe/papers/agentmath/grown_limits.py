"""Schedule of rollout limits with a rise after too many truncated rollouts."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from handaxe.core.errors import InputError
from handaxe.core.records import RatedGroup

__all__ = ["GrownLimits", "grown_limits"]

Limit = TypeVar("Limit")
CUT = ("turns", "budget")


def grown_limits(
    *, stages: Sequence[Limit], above: float = 0.1, least: int = 64, reasons: Sequence[str] = CUT
) -> "GrownLimits[Limit]":
    """Make a schedule for `linear(max_turns=...)` or `linear(budget=...)` with one update a step.

        share = rollouts truncated for one of `reasons` / rollouts, both counted since the last check
        a check takes place once a step, if `least` rollouts or more were counted; it resets both counts
        share > above   ->   rollouts launched from the next step on have the next stage's limit; the last one stays

    Counted are rollouts of steps at the present stage, so that none counts against a limit that it did not have: with
    partial rollouts, those launched before the last change are left out, and so are forks and unscored rollouts. A
    rollout keeps the limit of the step that it was launched for.

    Args:
        stages: the limits, one or more: numbers of turns, or `Budget`s (see `rollouts.budget.budgets`); in the paper
            from 48k to 72k and 96k tokens, with one call per thousand tokens.
        above: tolerated share, in [0, 1].
        least: rollouts, >= 1.
        reasons: values of `Ending.reason`. A turn that is truncated itself ends a rollout for "length", which no limit
            here can cause.

    Returns:
        A schedule: training step -> limit, which learns as a `Learner` once a step; list it in `learners` of `train`.
        Metrics: stage (the next step's, from 0) and truncated (share of the step's counted rollouts; 0 without any).
        Evaluation rollouts have step 0: evaluate with a strategy of its own, as a method does by default. A replay uses
        the first stage's limit unless the run's state is loaded.

    Raises:
        InputError: no stage, a share out of [0, 1], `least` below 1, or no reason.

    Example:
        stages (4, 6, 8), above 0.1, least 10:  step 0 ends with 2 of 8 truncated  ->  8 are too few for a check
        step 1 with 1 of 8  ->  3 / 16 > 0.1, 6 turns from step 2 on;  step 2 with 1 of 16  ->  no change, counts reset

    Paper: arXiv:2512.20745 (AgentMath), multi-stage reinforcement learning.
    Unconfirmed: the tolerated share and the number of rollouts; that the paper's stages are these limits.
    Differs: nothing else that is known.
    """
    if not stages or not 0 <= above <= 1 or least < 1 or not reasons:
        raise InputError(
            f"stages={list(stages)}, above={above}, least={least}, reasons={list(reasons)}: give one stage and one "
            "reason or more, a share from 0 to 1, and 1 rollout or more"
        )
    return GrownLimits(tuple(stages), above, least, frozenset(reasons))


class GrownLimits(Generic[Limit]):
    """Schedule made by `grown_limits`; `began` has the first step of every stage after the first."""

    def __init__(self, stages: tuple[Limit, ...], above: float, least: int, reasons: frozenset[str]):
        self.began: list[int] = []
        self._stages = stages
        self._above = above
        self._least = least
        self._reasons = reasons
        self._latest = self._cut = self._seen = 0

    def __call__(self, step: int) -> Limit:
        """Limit of the rollouts launched for a step."""
        self._latest = max(self._latest, step)
        return self._stages[bisect_right(self.began, step)]

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Count truncated rollouts, and move to the next stage if there are too many."""
        first = self.began[-1] if self.began else 0
        ended = [
            one.ending.kind == "truncated" and one.ending.reason in self._reasons
            for rated in groups
            for one in rated.group
            if rated.group.step >= first and one.branch_of is None
        ]
        self._cut, self._seen = self._cut + sum(ended), self._seen + len(ended)
        if self._seen >= self._least:
            if self._cut > self._above * self._seen and len(self.began) + 1 < len(self._stages):
                # Rollouts launched ahead keep their limit.
                self.began.append(max(step, self._latest) + 1)
            self._cut = self._seen = 0
        return {"stage": float(len(self.began)), "truncated": sum(ended) / len(ended) if ended else 0.0}

    def state_dict(self) -> dict[str, Any]:
        return {"began": list(self.began), "asked": self._latest, "cut": self._cut, "seen": self._seen}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.began = list(state["began"])
        self._latest, self._cut, self._seen = (int(state[name]) for name in ("asked", "cut", "seen"))
