"""DeepTravel: a plan is judged whole first, and reply by reply only where it is right; what failed is tried again."""

from handaxe.methods.method import Method, replace
from handaxe.papers.deeptravel.journeys import each_reply, used_by_plan
from handaxe.papers.deeptravel.requeue_failures import requeue_failures
from handaxe.rewards.gate import Ask, gate
from handaxe.rewards.rubric_points import Aggregate, rubric_points

__all__ = ["deeptravel"]


def deeptravel(
    base: Method, *, share: float = 0.25, every: int = 1, aggregate: Aggregate = "all", ask: Ask = "passed"
) -> Method:
    """Train on both verifiers, and draw a share of every step from what failed.

    Args:
        share: of a step's tasks that failed before; 0 requeues nothing.
        every: steps between two that requeue.
        aggregate: of what each reply says: "all", or "mean" for the other reading.
        ask: "all" asks about the replies of plans that are wrong, too, which changes no reward.
    """
    replies = rubric_points(items=each_reply, check=used_by_plan(), aggregate=aggregate, without=0.0)
    tasks = requeue_failures(share=share, every=every, around=base.tasks)
    reward = gate(on=base.reward, then=replies, ask=ask, questions=each_reply)
    return replace(base, reward=reward, tasks=tasks)
