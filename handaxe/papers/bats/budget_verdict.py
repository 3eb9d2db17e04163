"""Verifier of a proposed answer: the next step after the constraints were checked, given the budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from handaxe.core.errors import InputError
from handaxe.papers.bats.clue_evidence import ClueStatus

__all__ = ["AttemptDecision", "BudgetVerdict", "best_verified", "budget_verdict"]

AttemptDecision = Literal["SUCCESS", "CONTINUE", "PIVOT"]


class BudgetVerdict(NamedTuple):
    """AttemptDecision on an answer, and the status of every constraint."""

    decision: AttemptDecision
    statuses: tuple[ClueStatus, ...]


def budget_verdict(statuses: Sequence[ClueStatus], *, needed: int, remaining: int) -> BudgetVerdict:
    """Decide how to go on after a proposed answer.

        SUCCESS    all constraints are satisfied
        PIVOT      a constraint is contradicted, or needed > remaining
        CONTINUE   else: constraints are unverifiable, and the budget suffices to check them

    Args:
        statuses: of the constraints.
        needed: calls that the check of the unverifiable constraints costs.
        remaining: calls left for this.

    Raises:
        InputError: there are no statuses.

    Example:
        satisfied, unverifiable, 1 call needed: CONTINUE with 1 call left, PIVOT with none

    Paper: arXiv:2511.17006 (BATS), section 4, budget-aware self-verification.
    Differs: rules on tool results give statuses and decision; the paper's language model does.
    """
    if not statuses:
        raise InputError("an answer without constraints cannot be verified: give 1 status or more")
    if all(one == "satisfied" for one in statuses):
        return BudgetVerdict("SUCCESS", tuple(statuses))
    if "contradicted" in statuses or needed > remaining:
        return BudgetVerdict("PIVOT", tuple(statuses))
    return BudgetVerdict("CONTINUE", tuple(statuses))


def best_verified(verdicts: Sequence[BudgetVerdict]) -> int:
    """Choose among answers: the fewest contradicted constraints, then the most satisfied; the first of equals.

    Args:
        verdicts: of the answers, 1 or more.

    Returns:
        Position of the answer.

    Raises:
        InputError: there are no verdicts.

    Example:
        (satisfied, contradicted), (satisfied, unverifiable)  ->  1
    """
    if not verdicts:
        raise InputError("there is no answer to choose from: give 1 verdict or more")

    def rank(k: int) -> tuple[int, int]:
        return verdicts[k].statuses.count("contradicted"), -verdicts[k].statuses.count("satisfied")

    return min(range(len(verdicts)), key=rank)
