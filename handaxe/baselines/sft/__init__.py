"""SFT: supervised fine-tuning on expert conversations, a baseline of reinforcement learning."""

from handaxe.curricula.few_tasks import few_tasks
from handaxe.methods.method import Method, replace
from handaxe.training.sft.demonstrated import demonstrated
from handaxe.training.stages.teach import teach

__all__ = ["sft"]


def sft(base: Method, *, train_tasks: int = 320, passes: int = 6, teach_rate: float = 3e-4) -> Method:
    """Fine-tune on the expert's conversations about the first tasks, without reinforcement learning.

    Args:
        train_tasks: number of tasks.
        passes: epochs; 6 over 320 tasks equal the rollouts of 20 steps of 12 groups of 8.
        teach_rate: learning rate.
    """
    source = demonstrated(world=base.world, count=train_tasks, of_run=True)
    stage = teach(source=source, epochs=passes, learning_rate=teach_rate)
    return replace(base, tasks=few_tasks(count=train_tasks), stages=(*base.stages, stage), epochs=0)
