"""GRPO: the group is the baseline, and a KL penalty keeps the policy near the one it starts from."""

from handaxe.losses.terms.kl import kl
from handaxe.methods.method import Claim, Method, Paper, Recipe, replace

__all__ = ["grpo"]

CRITIC = "ppo --minibatches 1"
RECIPE = Recipe(
    paper=Paper(
        "DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models", "GRPO", "2402.03300"
    ),
    claims=(
        Claim("Accuracy rises over the policy it starts from.", "pass@1", "up", baseline="start"),
        Claim("Shorter updates than PPO's.", "training/seconds/update", "down", baseline=CRITIC, over="area"),
    ),
)


def grpo(base: Method, *, kl_coefficient: float = 0.04) -> Method:
    """Add a KL penalty to the loss.

    Differs: the penalty is averaged over all tokens, where the paper averages it within each attempt, as its loss.

    Args:
        kl_coefficient: beta of the k3 penalty against the starting policy; 0.04 in the paper.
    """
    return replace(base, terms=(kl(coefficient=kl_coefficient),), annotate=("ref_logp",))
