"""DeepEyesV2: fine-tuning on how tools are used comes first, and a search takes a tenth off a right answer."""

from handaxe.losses.surrogates.clip import clip
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards.by_task import by_task
from handaxe.rewards.gate import gate
from handaxe.rewards.used_tools import used_tools
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.rewards.within_length import within_length
from handaxe.training.stages.teach_expert import teach_expert
from handaxe.worlds.glimpse import glimpse
from handaxe.worlds.world import Habit

__all__ = ["deepeyes_v2"]
NEED = ("needs_tool", "yes")
ALONE = "deepeyes_v2 --cold-steps 0"
FREE = "deepeyes_v2 --search 0"
MORE = "More right than by RL alone."
LOOKS = "What both begin from has learned some looks before."
SHOWN = Habit(needless=0.5)
"""What is shown looks in half of the questions that need none, so that there is something to take off for."""
RECIPE = Recipe(
    paper=Paper("DeepEyesV2: Toward Agentic Multimodal Model", "DeepEyesV2", "2511.05271", 48),
    claims=(
        Claim(MORE, "pass@1", "up", baseline=ALONE, where=NEED, vice=0.9, learned=False, note=LOOKS),
        Claim("Fewer calls.", "calls", "down", baseline=FREE, where=("needs_tool", "no"), same="pass@1", vice=0.2),
        Claim("Over all questions, too, as accurate.", "calls", "down", baseline=FREE, same="pass@1", vice=0.8),
    ),
    base=grpo,
    world=partial(glimpse, kind="grid"),
    setting=Setting(model="start"),
)


def deepeyes_v2(base: Method, *, cold_steps: int = 30, search: float = -0.08, characters: int = 300) -> Method:
    """Fine-tune on an expert's looks, then train on answer and format (a grid, not images; unconfirmed: the clip).

    Args:
        cold_steps: of fine-tuning, 16 conversations each.
        search: added to a right answer that looked where it had not to; 0.8 times -0.1 in the paper.
        characters: from which on an answer is wrong and malformed; 300 in the paper.

    Differs: what is taken off is for any look at a question that needs none, and not for a search of the web; half of
    the questions that need none are shown with a look.
    """
    right = within_length(reward=base.reward, characters=characters)
    parts = {"answer": (0.8, right), "format": (0.2, within_length(reward=well_formed(), characters=characters))}
    searched = weighted({**parts, "searched": (search, gate(on=right, then=used_tools()))})
    cold = teach_expert(world=base.world, steps=cold_steps, batch_size=16, habit=SHOWN)
    reward = by_task(key="needs_tool", rewards={"yes": weighted(parts), "no": searched})
    return replace(base, reward=reward, surrogate=clip(eps_high=0.3), stages=(*base.stages, cold))
