"""GRPO-TCR (arXiv:2510.11701): fine-tune on the policy's own successes first, instead of on an expert's calls."""

from functools import partial
from typing import Literal

from handaxe.methods.method import Method, replace
from handaxe.selection import keep_successes
from handaxe.training.sft.demonstrated import demonstrated
from handaxe.training.stages import teach
from handaxe.training.stages.sources import played

__all__ = ["grpo_tcr_taught"]


def grpo_tcr_taught(
    base: Method, *, demonstrations: Literal["own", "gold"] = "own", sft_tasks: int = 64, sft_epochs: int = 2
) -> Method:
    """Fine-tune on at most one correct rollout of 8 for each task, then train as the base does.

    Args:
        demonstrations: the policy's "own" rollouts, or conversations of the world's expert on the same tasks ("gold").
        sft_tasks: tasks that demonstrations are made for; the paper has about 3,000 conversations.
        sft_epochs: passes over the demonstrations.
    """
    own = partial(played, groups=sft_tasks, group_size=8)
    gold = partial(demonstrated, world=base.world, count=sft_tasks, of_run=True)
    source = {"own": own, "gold": gold}[demonstrations]()
    sft = teach(source=source, select=keep_successes(most=1), epochs=sft_epochs, learning_rate=3e-4, optional=True)
    return replace(base, stages=(sft, *base.stages))
