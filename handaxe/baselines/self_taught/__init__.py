"""Supervised fine-tuning on the policy's own right attempts, to compare reinforcement learning with."""

from handaxe.methods.method import Method, replace
from handaxe.selection.keep_successes import keep_successes
from handaxe.training.stages.sources import played
from handaxe.training.stages.teach import teach

__all__ = ["self_taught"]


def self_taught(base: Method, *, passes: int = 3, teach_rate: float = 3e-4) -> Method:
    """Play as many attempts as a run of the base would, and learn those that were right; nothing trains after that.

    All are played by the policy as it starts, with the base's rollout and reward: `--base NAME` learns from what NAME
    would have learned from in its first step, as often as it has steps.

    Args:
        passes: over the right attempts, of which no two of a task are alike.
        teach_rate: learning rate.
    """
    run = base.settings
    own = played(steps=run.steps, groups=run.groups, group_size=run.group_size)
    stage = teach(source=own, select=keep_successes(), epochs=passes, learning_rate=teach_rate, optional=True)
    return replace(base, stages=(*base.stages, stage), epochs=0)
