"""GRPO-TCR (arXiv:2510.11701): fine-tune on deliberative demonstrations first, instead of on reactive ones."""

from dataclasses import replace as changed

from handaxe.methods.method import Method, replace
from handaxe.papers.grpo_tcr.mode_expert import Mode, mode_expert
from handaxe.training.sft.demonstrated import demonstrated
from handaxe.training.stages import teach

__all__ = ["grpo_tcr_modes"]


def grpo_tcr_modes(base: Method, *, mode: Mode = "deliberative", sft_tasks: int = 128, sft_epochs: int = 2) -> Method:
    """Fine-tune on conversations of a reasoning mode, then train as the base does.

    Args:
        mode: "deliberative", words before few calls; "reactive", a call at once for each question.
        sft_tasks: number of conversations.
        sft_epochs: passes over them.
    """
    world = base.world
    speaking = changed(world, expert=mode_expert(world.need("expert"), mode=mode))
    source = demonstrated(world=speaking, count=sft_tasks, of_run=True)
    return replace(base, stages=(teach(source=source, epochs=sft_epochs, learning_rate=3e-4), *base.stages))
