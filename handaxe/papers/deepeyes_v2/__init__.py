"""DeepEyesV2 (arXiv:2511.05271): fine-tune on tool use first, then reinforce with a small penalty for search."""

from handaxe import rewards
from handaxe.losses import surrogates
from handaxe.methods.method import Method, replace
from handaxe.training.stages.teach_expert import teach_expert
from handaxe.worlds.world import DemonstrationNoise

__all__ = ["deepeyes_v2"]

NOISE = DemonstrationNoise(call_rate=0.95, spurious_rate=0.3, corrupt_rate=0.05)
"""Deviations of the demonstrations, which reinforcement learning is to remove."""
KINDS = ("place", "stamp", "number")
"""Kinds of questions of the perception data."""
SEARCH_KINDS = ("price", "total")
"""Kinds of questions of the search data."""


def deepeyes_v2(base: Method, *, sft_steps: int = 200, search_reward: float = -0.08) -> Method:
    """Fine-tune on an expert's tool use, then train on answer and format.

    Args:
        sft_steps: steps of supervised fine-tuning, 16 conversations each.
        search_reward: added to a correct answer of the search data after a search; 0.8 times -0.1 in the paper.
    """
    correct = rewards.within_length(reward=base.reward, characters=300)
    form = rewards.within_length(reward=rewards.well_formed(), characters=300)
    parts = {"answer": (0.8, correct), "format": (0.2, form)}
    search = rewards.gate(on=correct, then=rewards.used_tools(tools=("search",)))
    plain, searching = rewards.weighted(parts), rewards.weighted({**parts, "searched": (search_reward, search)})
    kinds = {**dict.fromkeys(KINDS, plain), **dict.fromkeys(SEARCH_KINDS, searching)}
    fine_tuning = teach_expert(world=base.world, steps=sft_steps, batch_size=16, learning_rate=2e-3, noise=NOISE)
    return replace(
        base,
        reward=rewards.dispatch(key="kind", rewards=kinds),
        surrogate=surrogates.clip(eps_high=0.3),
        shared=(*base.shared, fine_tuning),
    )
