"""AsyncFlow: groups flow from stage to stage as they finish, and rollouts run one step ahead of the weights."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace

__all__ = ["asyncflow"]

TITLE = "AsyncFlow: An Asynchronous Streaming RL Framework for Efficient LLM Post-Training"
FASTER = "A step takes less time with rollouts one step ahead of the weights, and the reward stays."
RECIPE = Recipe(
    paper=Paper(TITLE, "AsyncFlow", "2507.01663", 184),
    claims=(Claim(FASTER, "training/step_seconds", "down", baseline="asyncflow --staleness 0", same="reward"),),
    setting=Setting(wait=0.1),
)


def asyncflow(base: Method, *, staleness: int = 1) -> Method:
    """Train with the staleness that the paper allows; reward and features of a group are ready when it is.

    Differs: sampling and training take turns on one machine; live attempts go on under the new weights at
    once and not at the generator's next iteration. Unconfirmed: the details of the loss.

    Args:
        staleness: steps that a trained token may be old; 1 in the paper.
    """
    return replace(base, pace=replace(base.pace, staleness=staleness))
