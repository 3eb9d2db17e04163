"""Small LMs for tool calling, against a larger model: a tiny one that was taught the calls asked for."""

from handaxe.methods.method import Method, replace
from handaxe.training.sft.demonstrated import demonstrated
from handaxe.training.stages.teach import teach

__all__ = ["small_lm_tiny"]


def small_lm_tiny(base: Method, *, taught: int = 960, rate: float = 1e-3) -> Method:
    """Teach the calls that a world asks for; no reinforcement learning.

    Args:
        taught: conversations, each learnt once.
        rate: learning rate.
    """
    shown = demonstrated(world=base.world, count=taught)
    return replace(base, stages=(*base.stages, teach(source=shown, batch_size=32, learning_rate=rate)))
