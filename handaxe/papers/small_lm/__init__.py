"""Small LMs for tool calling (arXiv:2512.15943): one epoch of supervised fine-tuning on the calls of a domain."""

from handaxe.methods.method import Method, replace
from handaxe.training.sft.demonstrated import demonstrated
from handaxe.training.stages import teach

__all__ = ["small_lm"]


def small_lm(base: Method, *, demonstrations: int = 64) -> Method:
    """Fine-tune on single calls of the function-calling leaderboard, without RL.

    Args:
        demonstrations: conversations; those longer than the model's context are left out.
    """
    source = demonstrated(world=base.world, count=demonstrations, fitting=True)
    sft = teach(source=source, batch_size=8, micro_batch_rows=4, learning_rate=2e-4)
    return replace(base, stages=(*base.stages, sft))
