"""Supervised fine-tuning on what the expert of a world does in it."""

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
    """Make a stage that plays a world's expert and learns from these conversations; the tools really answer.

        loss = - mean over a batch's tokens of log pi(token)        of the tokens that the expert's turns are made of

    It sees nothing of the site but its engine, its chat format and its seed, of which tasks and habits are drawn. As a
    shared stage it has the one seed that all runs share.

    Args:
        world: whose expert speaks, about tasks of its training split; for one that first errs see
            worlds.parts.mistakes.
        steps: optimiser steps, >= 0; with 0 nothing is done, for a baseline without this stage.
        batch_size: conversations a step.
        learning_rate: the highest; it falls to a tenth along a cosine.
        noise: of the expert; without one it does as it should.
        tools: offered in these conversations; None: the world's own.

    Returns:
        A stage: metrics of each optimiser step, none where there are none.

    Raises:
        InputError: steps below 0; the world has no expert, or its conversations do not fit into the policy's context.

    Example:
        teach_expert(world=arithmetic(), steps=100): learns of 3200 conversations in which every call is right
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
