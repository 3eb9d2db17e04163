"""Small LMs for tool calling (arXiv:2512.15943): fine-tune a tiny model, and compare with a larger model."""

from handaxe.methods.method import Method, replace
from handaxe.training.sft.demonstrated import demonstrated
from handaxe.training.stages import teach

__all__ = ["small_lm_tiny"]


def small_lm_tiny(base: Method, *, demonstrations: int = 960) -> Method:
    """Fine-tune on the calls of the world, without RL.

    Args:
        demonstrations: conversations, each learned once.
    """
    source = demonstrated(world=base.world, count=demonstrations)
    return replace(base, stages=(*base.stages, teach(source=source, batch_size=32, learning_rate=1e-3)))
