"""Supervised fine-tuning on what the world's expert says of a few tasks, to compare reinforcement learning with."""

from handaxe.curricula.few_tasks import few_tasks
from handaxe.methods.method import Method, replace
from handaxe.training.sft.demonstrated import demonstrated
from handaxe.training.stages.teach import teach

__all__ = ["sft"]


def sft(base: Method, *, train_tasks: int = 320, passes: int = 6, teach_rate: float = 3e-4) -> Method:
    """Learn the expert's conversations about the first tasks by heart as far as it goes; nothing trains after that.

    Args:
        train_tasks: how many.
        passes: times that each is learnt from; 6 times 320 are as many attempts as 20 steps of 12 groups of 8.
        teach_rate: learning rate.
    """
    source = demonstrated(world=base.world, count=train_tasks, of_run=True)
    stage = teach(source=source, epochs=passes, learning_rate=teach_rate)
    return replace(base, tasks=few_tasks(count=train_tasks), stages=(*base.stages, stage), epochs=0)
