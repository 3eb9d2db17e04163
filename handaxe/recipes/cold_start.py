"""Rebuilds the checkpoint that ships with handaxe from nothing: `python -m handaxe.recipes.cold_start`."""

from pathlib import Path

import tyro

import handaxe.models.load
from handaxe.engines.local import LocalEngine
from handaxe.models.compact import Compact
from handaxe.models.tiny import TinyModel
from handaxe.tools.calculator import calculator
from handaxe.tools.compute import compute
from handaxe.tools.python import python
from handaxe.training.cold_conversations import conversations
from handaxe.training.schedule import cosine
from handaxe.training.scripted import trajectory_from_messages
from handaxe.training.sft import sft

__all__ = ["cold_start"]

SHIPPED = Path(handaxe.models.load.__file__).with_name("tiny_checkpoint")


def cold_start(
    *, out: Path = SHIPPED, steps: int = 2400, batch_size: int = 32, learning_rate: float = 3e-3, seed: int = 0
) -> None:
    """Teach a fresh tiny model the tool protocol, weakly, by supervised fine-tuning on scripted conversations.

    Args:
        out: the folder to write; the one in the package by default.
        steps: optimiser steps.
        batch_size: conversations a step, each seen once.
        learning_rate: at its highest; it rises over 50 steps and then falls to 0.
        seed: of weights, conversations and their order.
    """
    schemas = {tool.schema.name: tool.schema for tool in (calculator, compute, python())}
    format, model = Compact(), TinyModel.new(seed=seed)
    trajectories = [
        trajectory_from_messages(format, one.messages, one.tools, id=f"cold/{i}")
        for i, one in enumerate(conversations(schemas, count=steps * batch_size, seed=seed))
    ]
    sft(
        LocalEngine(model, betas=(0.9, 0.98), weight_decay=0.01),
        trajectories,
        batch_size=batch_size,
        micro_batch_rows=batch_size // 2,
        learning_rate=cosine(learning_rate, steps=steps, warmup_steps=50),
        seed=seed,
    )
    model.save(out)
    print(f"wrote {out}")


if __name__ == "__main__":
    tyro.cli(cold_start)
