"""Limits of an attempt that grow while too many attempts are cut off by them."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from handaxe.core.errors import InputError
from handaxe.core.records import Rated

__all__ = ["GrownLimits", "grown_limits"]

Limit = TypeVar("Limit")
CUT = ("turns", "budget")


def grown_limits(
    *, stages: Sequence[Limit], above: float = 0.1, least: int = 64, reasons: Sequence[str] = CUT
) -> "GrownLimits[Limit]":
    """Make a schedule for `linear(max_turns=...)` or `linear(budget=...)` that learns from a step.

        share = attempts that ended truncated for one of `reasons` / attempts, both counted since the last look
        a look is had once a step, when `least` attempts or more were counted; both counts then begin anew
        share > above   ->   attempts launched from the next step on have the next stage's limit, the last one for ever

    Counted are attempts at tasks of steps that have the present stage, so that none is held against a limit that it did
    not have: where attempts go on from step to step, those launched before the last change are left out. So are forks,
    and attempts that could not be scored. An attempt keeps the limit of the step that it was launched for.

    Args:
        stages: the limits, one or more: numbers of turns, or `Budget`s (see `rollouts.budget.budgets`), in the paper
            rising from 48k to 72k and 96k tokens, with as many calls as thousands of tokens.
        above: the share that is still borne, in [0, 1].
        least: attempts, >= 1.
        reasons: of `Ending.reason`. A turn that is cut itself ends an attempt for "length", of which no limit here can
            be the cause.

    Returns:
        A schedule: training step -> limit, which learns as a `Learner` once a step; list it in `learners` of `train`.
        Metrics: stage (the next step's, from 0) and truncated (share of the step's attempts that were counted; 0
        without any). Attempts of an evaluation are of step 0: evaluate with a strategy of its own, which is what a
        recipe does by itself. Attempts are replayed with the first stage's limit unless the run's state is there.

    Raises:
        InputError: no stage, a share out of [0, 1], `least` below 1, or no reason.

    Example:
        stages (4, 6, 8), above 0.1, least 10:  step 0 ends with 2 of 8 cut  ->  8 are too few to look at
        step 1 with 1 of 8  ->  3 / 16 > 0.1, 6 turns from step 2 on;  step 2 with 1 of 16  ->  it stays, counts anew

    Paper: arXiv:2512.20745 (AgentMath), multi-stage reinforcement learning.
    Unconfirmed: which share is too large, and of how many attempts; that the paper's stages are these limits.
    Differs: nothing else that is known.
    """
    if not stages or not 0 <= above <= 1 or least < 1 or not reasons:
        raise InputError(
            f"stages={list(stages)}, above={above}, least={least}, reasons={list(reasons)}: give one stage and one "
            "reason or more, a share from 0 to 1, and 1 attempt or more"
        )
    return GrownLimits(tuple(stages), above, least, frozenset(reasons))


class GrownLimits(Generic[Limit]):
    """The schedule that `grown_limits` describes; `began` has the first step of every stage after the first."""

    def __init__(self, stages: tuple[Limit, ...], above: float, least: int, reasons: frozenset[str]):
        self.began: list[int] = []
        self._stages = stages
        self._above = above
        self._least = least
        self._reasons = reasons
        self._asked = self._cut = self._seen = 0

    def __call__(self, step: int) -> Limit:
        """The limit of attempts that are launched for a step."""
        self._asked = max(self._asked, step)
        return self._stages[bisect_right(self.began, step)]

    def learn(self, groups: Sequence[Rated], *, step: int) -> Mapping[str, float]:
        """Count what was cut off, and grow where it was too much."""
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
                # What was launched ahead has its limit already, and goes on to have it.
                self.began.append(max(step, self._asked) + 1)
            self._cut = self._seen = 0
        return {"stage": float(len(self.began)), "truncated": sum(ended) / len(ended) if ended else 0.0}

    def state_dict(self) -> dict[str, Any]:
        return {"began": list(self.began), "asked": self._asked, "cut": self._cut, "seen": self._seen}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.began = list(state["began"])
        self._asked, self._cut, self._seen = (int(state[name]) for name in ("asked", "cut", "seen"))
