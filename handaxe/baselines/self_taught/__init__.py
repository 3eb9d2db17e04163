"""Self-taught: supervised fine-tuning on the policy's own correct rollouts, a baseline of reinforcement learning."""

from handaxe import selection
from handaxe.methods.method import Method, replace
from handaxe.training.stages.sources import played
from handaxe.training.stages.teach import teach

__all__ = ["self_taught"]


def self_taught(base: Method, *, passes: int = 3, teach_rate: float = 3e-4) -> Method:
    """Sample the rollouts of a whole run with the starting weights, and fine-tune on the correct ones.

    `--base NAME` takes rollout and reward of NAME, and learns from its first step, as often as the run has steps.

    Args:
        passes: epochs over the correct rollouts, which are distinct for each task.
        teach_rate: learning rate.
    """
    run = base.settings
    source = played(steps=run.steps, groups=run.groups, group_size=run.group_size)
    successes = selection.keep_successes()
    stage = teach(source=source, select=successes, epochs=passes, learning_rate=teach_rate, optional=True)
    return replace(base, stages=(*base.stages, stage), epochs=0)
