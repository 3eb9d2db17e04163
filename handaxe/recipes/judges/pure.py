"""PURE: the value of a step is the worst process reward still to come, so that more good-looking steps add nothing."""

from typing import Literal

from handaxe.credit.leave_one_out import leave_one_out
from handaxe.credit.min_form import min_form
from handaxe.credit.total import total
from handaxe.judges.noisy import noisy
from handaxe.judges.step_status import step_status
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.rewards.judged_steps import judged_steps
from handaxe.rewards.weighted import weighted
from handaxe.worlds.sums import sums

__all__ = ["pure"]
TITLE = "Stop Summation: Min-Form Credit Assignment Is All Process Reward Model Needs for Reasoning"
SUM = "pure --form sum"
EASY = ("difficulty", "easy")
RECIPE = Recipe(
    paper=Paper(TITLE, "PURE", "2504.15275", 122),
    claims=(
        Claim("Fewer needless steps.", "calls", "down", baseline=SUM, where=EASY, same="pass@1", vice=0.8),
        Claim("Sums collapse, minima do not.", "pass@1", "up", baseline=SUM, vice=0.3),
    ),
    world=sums,
    setting=Setting(model="start", max_turns=4),
)


def pure(base: Method, *, form: Literal["min", "sum"] = "min", outcome: float = 1.0) -> Method:
    """Train on the step scores of a judge that can be hacked, and on what is right.

    Differs: no KL penalty; what is right pays in every task, where the paper pays it in a tenth; a rule with noise that
    likes calls is the judge.

    Args:
        form: "sum" adds up the step scores instead.
        outcome: weight of the verifiable outcome; 1 in the paper.
    """
    judge = noisy(judge=step_status())
    reward = weighted({"correct": (1.0, base.reward), "steps": (1.0, judged_steps(judge=judge))})
    parts = {"steps": (1.0, min_form(form=form, unit="turn")), "correct": (outcome, leave_one_out(channel="correct"))}
    return replace(base, reward=reward, credit=total(parts))
