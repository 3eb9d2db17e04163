"""PURE: the value of a step is the worst process reward still to come, so that more good-looking steps add nothing."""

from typing import Literal

from handaxe.credit.leave_one_out import leave_one_out
from handaxe.credit.total import total
from handaxe.judges.noisy import noisy
from handaxe.judges.step_status import step_status
from handaxe.methods.method import Method, replace
from handaxe.papers.pure.min_form_return import min_form_return
from handaxe.rewards.judged_steps import judged_steps
from handaxe.rewards.weighted import weighted

__all__ = ["pure"]


def pure(base: Method, *, form: Literal["min", "sum"] = "min", outcome: float = 1.0) -> Method:
    """Train on the step scores of a judge that can be hacked, and on what is right.

    Args:
        form: "sum" adds up the step scores instead.
        outcome: weight of the verifiable outcome; 1 in the paper.
    """
    judge = noisy(judge=step_status())
    reward = weighted({"correct": (1.0, base.reward), "steps": (1.0, judged_steps(judge=judge))})
    parts = {
        "steps": (1.0, min_form_return(form=form, unit="turn")),
        "correct": (outcome, leave_one_out(channel="correct")),
    }
    return replace(base, reward=reward, credit=total(parts))
