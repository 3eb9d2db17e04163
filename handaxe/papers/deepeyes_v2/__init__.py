"""DeepEyesV2: fine-tuning on how tools are used comes first, and a search takes a tenth off a right answer."""

from handaxe.losses.surrogates.clip import clip
from handaxe.methods.method import Method, replace
from handaxe.rewards.by_task import by_task
from handaxe.rewards.gate import gate
from handaxe.rewards.used_tools import used_tools
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.rewards.within_length import within_length
from handaxe.training.stages.teach_expert import teach_expert
from handaxe.worlds.world import DemonstrationNoise

__all__ = ["deepeyes_v2"]
SHOWN = DemonstrationNoise(needless=0.5)
"""What is shown looks in half of the questions that need none, so that there is something to take off for."""


def deepeyes_v2(base: Method, *, cold_steps: int = 30, search: float = -0.08, characters: int = 300) -> Method:
    """Fine-tune on an expert's looks, then train on answer and format (a grid, not images; unconfirmed: the clip).

    Args:
        cold_steps: of fine-tuning, 16 conversations each.
        search: added to a right answer that looked where it had not to; 0.8 times -0.1 in the paper.
        characters: from which on an answer is wrong and malformed; 300 in the paper.
    """
    right = within_length(reward=base.reward, characters=characters)
    parts = {"answer": (0.8, right), "format": (0.2, within_length(reward=well_formed(), characters=characters))}
    searched = weighted({**parts, "searched": (search, gate(on=right, then=used_tools()))})
    cold = teach_expert(world=base.world, steps=cold_steps, batch_size=16, habit=SHOWN)
    reward = by_task(key="needs_tool", rewards={"yes": weighted(parts), "no": searched})
    return replace(base, reward=reward, surrogate=clip(eps_high=0.3), stages=(*base.stages, cold))
