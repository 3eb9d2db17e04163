"""Rollout strategy: attempts at one task until an answer is verified or a shared budget is used up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Message, Task, Trajectory
from handaxe.core.requests import Attempt
from handaxe.ops.seeds import derive_seed
from handaxe.papers.bats.budget_verdict import BudgetVerdict, best_verified
from handaxe.papers.bats.limited_tools import ToolLedger, limited_tools
from handaxe.rollouts.linear import linear

__all__ = ["AttemptGuide", "attempts_within"]

GUIDE = "guide"
"""Name of user messages with plan and summary, which come from the strategy."""


class AttemptGuide(Protocol):
    """Planner and verifier of one rollout."""

    def opening(self, ledger: ToolLedger) -> str:
        """Plan, and after the first attempt its summary, for the next attempt."""
        ...

    def review(self, attempts: Sequence[Trajectory], ledger: ToolLedger) -> BudgetVerdict:
        """Verify the answer of the last attempt."""
        ...


def attempts_within(
    *,
    limits: Mapping[str, int],
    tell: bool,
    guide: Callable[[Task], AttemptGuide] | None = None,
    most: int = 8,
    max_turns: int = 64,
) -> Rollout:
    """Play attempts with limits on calls, shared by all attempts of a rollout.

        attempt n reads: question, plan and summary (if there is a guide), regimes and tracker (if `tell`)
        after an answer: SUCCESS, or a used-up tool, or `most` attempts  ->  end
                         CONTINUE or PIVOT  ->  a new attempt; the summary replaces the conversation

    Without a guide there is one attempt.

    Args:
        limits: largest number of calls by tool.
        tell: write the tracker after each tool result.
        guide: makes planner and verifier of a task.
        most: attempts, >= 1.
        max_turns: of an attempt.

    Returns:
        A strategy with a trajectory an attempt. Notes: "verdict" and "statuses" of each; "chosen", True for the answer
        with the best verdict; "used" and "refused", calls by tool, of the last.

    Raises:
        InputError: most is below 1.

    Example:
        attempts_within(limits={"find": 8, "open": 8}, tell=True) is a linear rollout with a tracker

    Paper: arXiv:2511.17006 (BATS), sections 3 and 4.
    Differs: an answer is chosen among verified ones by a rule; the paper asks a language model.
    """
    if most < 1:
        raise InputError(f"most is {most}: give 1 attempt or more")
    one = linear(max_turns=max_turns)

    def rollout(attempt: Attempt) -> RolloutPlan:
        ledger = ToolLedger(dict(limits))
        helper = None if guide is None else guide(attempt.task)
        found: list[Trajectory] = []
        verdicts: list[BudgetVerdict] = []
        while True:
            found += yield from one(_nth(attempt, len(found), helper, ledger, tell))
            if helper is None or found[-1].ending.kind == "infra_error" or found[-1].ending.reason == "stopped":
                break
            verdicts.append(helper.review(found, ledger))
            if verdicts[-1].decision == "SUCCESS" or ledger.exhausted or len(found) == most:
                break
        return _noted(found, verdicts, ledger)

    return rollout


def _nth(attempt: Attempt, n: int, guide: AttemptGuide | None, ledger: ToolLedger, tell: bool) -> Attempt:
    told = () if guide is None else (Message("user", guide.opening(ledger), name=GUIDE),)
    return replace(
        attempt,
        task=replace(attempt.task, messages=(*attempt.task.messages, *told)),
        env=limited_tools(attempt.env, ledger, tell=tell),
        id=f"{attempt.id}/{n}",
        seed=derive_seed(attempt.seed, "attempts", n),
    )


def _noted(found: list[Trajectory], verdicts: list[BudgetVerdict], ledger: ToolLedger) -> list[Trajectory]:
    chosen = best_verified(verdicts) if verdicts else len(found) - 1
    noted = []
    for n, one in enumerate(found):
        notes = {**one.notes, "chosen": n == chosen}
        if n < len(verdicts):
            notes |= {"verdict": verdicts[n].decision, "statuses": list(verdicts[n].statuses)}
        if n == len(found) - 1:
            notes |= {"used": dict(ledger.used), "refused": dict(ledger.refused)}
        noted.append(replace(one, notes=notes))
    return noted
