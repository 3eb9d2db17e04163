"""Supervised fine-tuning on conversations of a world's expert."""

from collections.abc import Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Stage, StageContext
from handaxe.training.loop.schedule import cosine
from handaxe.training.sft.demonstrated import demonstrated
from handaxe.training.stages.teach import teach
from handaxe.worlds.world import DemonstrationNoise, World

__all__ = ["teach_expert"]

EXPERT = DemonstrationNoise()


def teach_expert(
    *,
    world: World,
    steps: int,
    batch_size: int = 32,
    learning_rate: float = 1e-3,
    noise: DemonstrationNoise = EXPERT,
    tools: Sequence[Any] | None = None,
) -> Stage:
    """Make a stage that plays a world's expert with the real tools and learns from these conversations.

        loss = - mean over a batch's tokens of log pi(token)        over the tokens of the expert's turns

    The stage reads only engine, chat format and seed of its context; the seed draws tasks and noise. As a shared
    stage it uses the one seed that all runs share.

    Args:
        world: provides the expert, and tasks of its training split; for an expert that first errs see
            worlds.parts.mistakes.
        steps: optimiser steps, >= 0; 0 does nothing, for a baseline without this stage.
        batch_size: conversations per step.
        learning_rate: the maximum; it falls to a tenth along a cosine.
        noise: of the expert; default none.
        tools: offered tools; None: the world's.

    Returns:
        A stage: metrics of each optimiser step, possibly none.

    Raises:
        InputError: steps below 0; the world has no expert, or its conversations exceed the policy's context.

    Example:
        teach_expert(world=arithmetic(), steps=100): learns from 3200 conversations with only correct calls
    """
    if steps < 0:
        raise InputError(f"steps is {steps}; give 0 or more")
    world.need("expert")
    rate = cosine(learning_rate, steps=max(1, steps), warmup_steps=steps // 30, floor=learning_rate / 10)

    def stage(site: StageContext) -> list[dict[str, float]]:
        if steps == 0:
            return []
        source = demonstrated(world=world, count=steps * batch_size, noise=noise, tools=tools, seed=site.seed)
        return teach(source=source, batch_size=batch_size, micro_batch_rows=batch_size, learning_rate=rate)(site)

    return stage
