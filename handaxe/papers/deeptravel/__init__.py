"""DeepTravel (arXiv:2509.21842): verify plans in two stages, and replay tasks on which all rollouts failed."""

from typing import Literal

from handaxe import rewards
from handaxe.curricula.requeue_failures import requeue_failures
from handaxe.methods.method import Method, replace
from handaxe.papers.deeptravel.journeys import each_reply, plan_agreement

__all__ = ["deeptravel"]


def deeptravel(base: Method, *, share: float = 0.25, ask: Literal["passed", "all"] = "passed") -> Method:
    """Check correct plans against every tool reply, and draw a share of each step from failed tasks.

    Args:
        share: share of a step's tasks that failed before; 0 disables replay. 0.25 is unconfirmed.
        ask: plans that the second verifier checks: "passed", or "all", which changes no reward.
    """
    check = base.judge.check(rule=plan_agreement(), items=each_reply)
    replies = rewards.rubric_points(items=each_reply, check=check, aggregate="all", without=0.0)
    return replace(
        base,
        reward=rewards.gate(on=base.reward, then=replies, ask=ask, questions=each_reply),
        tasks=requeue_failures(share=share, around=base.tasks),
    )
