"""GRPO-TCR (arXiv:2510.11701): fine-tune on the policy's own successes first, instead of on an expert's calls."""

from dataclasses import replace as changed
from functools import partial
from typing import Literal

from handaxe.methods.method import Method, replace
from handaxe.papers.grpo_tcr.stitched_expert import stitched_expert
from handaxe.selection import keep_successes
from handaxe.training.sft.demonstrated import demonstrated
from handaxe.training.stages import teach
from handaxe.training.stages.sources import played

__all__ = ["grpo_tcr_taught"]


def grpo_tcr_taught(
    base: Method,
    *,
    demonstrations: Literal["own", "gold", "stitched"] = "own",
    sft_tasks: int = 64,
    sft_epochs: int = 2,
) -> Method:
    """Fine-tune on at most one correct rollout of 8 for each task, then train as the base does.

    Args:
        demonstrations: the policy's "own" rollouts, end to end; conversations of the world's expert on the same tasks
            ("gold"); or text solutions with a pasted call ("stitched").
        sft_tasks: tasks that demonstrations are made for; the paper has about 3,000 conversations.
        sft_epochs: passes over the demonstrations.
    """
    world = base.world
    own = partial(played, groups=sft_tasks, group_size=8)
    gold = partial(demonstrated, world=world, count=sft_tasks, of_run=True)
    stitched = partial(gold, world=changed(world, expert=stitched_expert(world.solution)))
    source = {"own": own, "gold": gold, "stitched": stitched}[demonstrations]()
    sft = teach(source=source, select=keep_successes(most=1), epochs=sft_epochs, learning_rate=3e-4, optional=True)
    return replace(base, stages=(sft, *base.stages))
