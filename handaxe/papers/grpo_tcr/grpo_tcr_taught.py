"""GRPO-TCR after fine-tuning on the policy's own successes, which the paper finds better than on calls pasted in."""

from functools import partial
from typing import Literal

from handaxe.methods.method import Method, replace
from handaxe.selection.keep_successes import keep_successes
from handaxe.training.sft.demonstrated import demonstrated
from handaxe.training.stages.sources import played
from handaxe.training.stages.teach import teach

__all__ = ["grpo_tcr_taught"]


def grpo_tcr_taught(
    base: Method, *, shown: Literal["own", "gold"] = "own", attempts: int = 64, passes: int = 2
) -> Method:
    """Learn attempts that were right, of tasks tried 8 times each, before tasks are chosen and trained on.

    Args:
        shown: what is learnt, the policy's own attempts or what the world's expert says about the same tasks.
        attempts: at most, of a task each.
        passes: over them.
    """
    own = partial(played, groups=attempts, group_size=8)
    gold = partial(demonstrated, world=base.world, count=attempts, of_run=True)
    source = {"own": own, "gold": gold}[shown]()
    taught = teach(source=source, select=keep_successes(most=1), epochs=passes, learning_rate=3e-4, optional=True)
    return replace(base, stages=(taught, *base.stages))
