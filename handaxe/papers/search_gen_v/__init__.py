"""Search-Gen-V (arXiv:2510.14660): teach a verifier of nuggets, then train it by the agreement of its labels."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.search_gen_v.label_agreement import label_agreement
from handaxe.papers.search_gen_v.nuggets import SHORT_LABELS
from handaxe.training.stages import teach_expert

__all__ = ["search_gen_v"]


def search_gen_v(
    base: Method, *, distil_steps: int = 160, distil_rate: float = 2e-3, length_limit: int = 96, length_cache: int = 32
) -> Method:
    """Distil an expert's labels, then reward agreement with the reference labels and the form of the reply.

    Args:
        distil_steps: steps of supervised fine-tuning; 0 for reinforcement learning alone.
        distil_rate: its learning rate.
        length_limit: maximum tokens of a reply.
        length_cache: tokens before the limit in which the penalty grows.
    """
    distil = teach_expert(world=base.world, steps=distil_steps, batch_size=16, learning_rate=distil_rate)
    parts = {
        "correct": (1.0, label_agreement(labels=SHORT_LABELS)),
        "overlong": (1.0, rewards.overlong(limit=length_limit, cache=length_cache)),
    }
    return replace(base, shared=(*base.shared, distil), reward=rewards.weighted(parts))
