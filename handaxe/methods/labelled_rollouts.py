"""Source of the first policy's rollouts with the rewards of a method as labels."""

from handaxe.core.protocols import Source
from handaxe.methods.method import Method
from handaxe.training.stages.sources import played

__all__ = ["labelled_rollouts"]


def labelled_rollouts(base: Method, *, groups: int = 24) -> Source:
    """Play groups of the method's group size, scored by the method's reward.

    Args:
        groups: number of groups.

    Returns:
        A source: groups of the policy as the stage finds it, which is the first policy if no stage comes before.

    Example:
        24 groups of 8  ->  192 rollouts, on which `training.stages.fit` trains a reward model
    """
    return played(groups=groups, group_size=base.settings.group_size, arguments={"reward": base.reward})
