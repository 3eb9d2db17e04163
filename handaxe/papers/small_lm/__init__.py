"""Small LMs for tool calling: one epoch of supervised fine-tuning on the calls of a domain, and nothing else."""

from handaxe.methods.method import Method, replace
from handaxe.training.sft.demonstrated import demonstrated
from handaxe.training.stages.teach import teach

__all__ = ["small_lm"]


def small_lm(base: Method, *, taught: int = 64, rate: float = 2e-4) -> Method:
    """Teach single calls of the function-calling leaderboard; no reinforcement learning.

    Args:
        taught: conversations; those that do not fit into the model's context are left out.
        rate: learning rate.
    """
    shown = demonstrated(world=base.world, count=taught, fitting=True)
    lessons = teach(source=shown, batch_size=8, micro_batch_rows=4, learning_rate=rate)
    return replace(base, stages=(*base.stages, lessons))
