"""DeepEyesV2 (arXiv:2511.05271): fine-tune on tool use first, then reinforce with a small penalty for search."""

from handaxe import rewards
from handaxe.losses import surrogates
from handaxe.methods.method import Method, replace
from handaxe.training.stages.teach_expert import teach_expert
from handaxe.worlds.world import DemonstrationNoise

__all__ = ["deepeyes_v2"]

NOISE = DemonstrationNoise(spurious_rate=0.5)
"""Demonstrations look in half of the questions that need no look, so that the penalty can act."""


def deepeyes_v2(base: Method, *, sft_steps: int = 30, search_reward: float = -0.08) -> Method:
    """Fine-tune on an expert's looks, then train on answer and format.

    Args:
        sft_steps: steps of supervised fine-tuning, 16 conversations each.
        search_reward: added to a correct answer with a needless look; 0.8 times -0.1 in the paper.
    """
    correct = rewards.within_length(reward=base.reward, characters=300)
    form = rewards.within_length(reward=rewards.well_formed(), characters=300)
    parts = {"answer": (0.8, correct), "format": (0.2, form)}
    search = rewards.gate(on=correct, then=rewards.used_tools())
    kinds = {"yes": rewards.weighted(parts), "no": rewards.weighted({**parts, "searched": (search_reward, search)})}
    cold_start = teach_expert(world=base.world, steps=sft_steps, batch_size=16, noise=NOISE)
    return replace(
        base,
        reward=rewards.dispatch(key="needs_tool", rewards=kinds),
        surrogate=surrogates.clip(eps_high=0.3),
        stages=(*base.stages, cold_start),
    )
