"""RM-R1 (arXiv:2505.02387): teach a judge to reason before its verdict, then reward the verdict."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.training.stages import teach_expert
from handaxe.worlds.judging.pairs import PAIR_TAGS, PAIR_TAIL

__all__ = ["rm_r1"]


def rm_r1(base: Method, *, distil_steps: int = 360, distil_rate: float = 2e-3, tail: int = PAIR_TAIL) -> Method:
    """Distil reasoning of an expert judge, then train by the correctness of verdicts alone.

    Args:
        distil_steps: steps of supervised fine-tuning on the expert's judgements; 0 for reinforcement learning alone.
        distil_rate: its learning rate.
        tail: characters at the end of a reply that hold the verdict; 80 in the paper, for longer tags.
    """
    distil = teach_expert(world=base.world, steps=distil_steps, batch_size=16, learning_rate=distil_rate)
    return replace(base, shared=(*base.shared, distil), reward=rewards.verdict(tags=PAIR_TAGS, tail=tail))
