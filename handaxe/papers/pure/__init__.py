"""PURE (arXiv:2504.15275): take the minimum of future process rewards as the value of a step, instead of the sum."""

from typing import Literal

from handaxe import credit, judges, rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.pure.min_form_return import min_form_return

__all__ = ["pure"]


def pure(base: Method, *, form: Literal["min", "sum"] = "min", outcome_weight: float = 1.0) -> Method:
    """Train on the step scores of a noisy judge in min-form, and on the verifiable outcome.

    Args:
        form: "min", or "sum", the usual return.
        outcome_weight: weight of the verifiable outcome; 1 in the paper.
    """
    steps = rewards.judged_steps(judge=judges.noisy(judge=judges.step_status()))
    parts = {"steps": (1.0, min_form_return(form=form, unit="turn"))}
    outcome = credit.leave_one_out(channel="correct")
    return replace(
        base,
        reward=rewards.weighted({"correct": (1.0, base.reward), "steps": (1.0, steps)}),
        credit=credit.total({**parts, "correct": (outcome_weight, outcome)}),
    )
