"""DeepTravel: a plan is judged whole first, and reply by reply only where it is right; what failed is tried again."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards.gate import Ask, gate
from handaxe.rewards.rubric_points import Aggregate, rubric_points
from handaxe.selection.requeue_failures import requeue_failures
from handaxe.worlds.journeys import each_reply, journeys, used_by_plan

__all__ = ["deeptravel"]

TITLE = "DeepTravel: An End-to-End Agentic Reinforcement Learning Framework for Autonomous Travel Planning Agents"
MORE = "More long journeys planned than without trying failures again."
SPARED = "The second verifier is asked fewer questions an attempt than when it is asked about wrong plans, too."
ASKED = "training/channel/asked"
ONCE = "deeptravel --share 0"
LONG = ("legs", 3)
RECIPE = Recipe(
    paper=Paper(TITLE, "DeepTravel", "2509.21842", 138),
    claims=(
        Claim(MORE, "pass@1", "up", baseline=ONCE, where=LONG, vice=0.9),
        Claim(SPARED, ASKED, "down", baseline="deeptravel --ask all", over="area", same="pass@1", vice=1.0),
    ),
    base=grpo,
    world=journeys,
    setting=Setting(model="start", max_turns=8),
)


def deeptravel(
    base: Method, *, share: float = 0.25, every: int = 1, aggregate: Aggregate = "all", ask: Ask = "passed"
) -> Method:
    """Train on both verifiers, and draw a share of every step from what failed.

    Unconfirmed: the product of both verifiers, share and every. Differs: both verifiers are rules, where the paper asks
    language models; replies are generated, and can be kept by the world's cache.

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
