"""GRPO-TCR after fine-tuning on the policy's own successes, which the paper finds better than on calls pasted in."""

from typing import Literal

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.grpo_tcr import grpo_tcr
from handaxe.selection.keep_successes import keep_successes
from handaxe.training.demonstrated import demonstrated
from handaxe.training.sources import played
from handaxe.training.stages.teach import teach
from handaxe.worlds.sums import sums

__all__ = ["grpo_tcr_taught"]
TITLE = "Demystifying Reinforcement Learning in Agentic Reasoning"
GOLD = "grpo_tcr_taught --shown gold"
NOTE = "Calls of a written expert stand for those that the paper pastes into solutions."
RECIPE = Recipe(
    paper=Paper(TITLE, "GRPO-TCR, taught", "2510.11701", 136),
    claims=(
        Claim("More is right than after the expert's calls.", "pass@1", "up", baseline=GOLD, note=NOTE),
        Claim("More is right than without fine-tuning.", "pass@1", "up", note=NOTE),
    ),
    base=grpo_tcr,
    world=sums,
    setting=Setting(model="start"),
)


def grpo_tcr_taught(
    base: Method, *, shown: Literal["own", "gold"] = "own", attempts: int = 64, passes: int = 2
) -> Method:
    """Learn attempts that were right, of tasks tried 8 times each, before tasks are chosen and trained on.

    Args:
        shown: what is learnt, the policy's own attempts or what the world's expert says about the same tasks.
        attempts: at most, of a task each.
        passes: over them.

    Differs: the paper's real conversations are those of a larger model, about other tasks than are then trained on;
    here some are trained on, too.
    """
    own = partial(played, groups=attempts, group_size=8)
    gold = partial(demonstrated, world=base.world, count=attempts, of_run=True)
    source = {"own": own, "gold": gold}[shown]()
    taught = teach(source=source, select=keep_successes(most=1), epochs=passes, learning_rate=3e-4, optional=True)
    return replace(base, stages=(taught, *base.stages))
