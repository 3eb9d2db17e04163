"""Rebuild the shipped tiny checkpoint from scratch: `python -m handaxe.training.sft.rebuild_tiny`."""

from pathlib import Path

import tyro

import handaxe.models.load
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny import TinyModel
from handaxe.tools.calculator import calculator
from handaxe.tools.compute import compute
from handaxe.tools.python import python
from handaxe.training.loop.schedule import cosine
from handaxe.training.sft.cold_conversations import conversations
from handaxe.training.sft.scripted import trajectory_from_messages
from handaxe.training.stages.context import make_site
from handaxe.training.stages.sources import scripted
from handaxe.training.stages.teach import teach

__all__ = ["rebuild_tiny"]

SHIPPED = Path(handaxe.models.load.__file__).with_name("tiny_checkpoint")


def rebuild_tiny(
    *, out: Path = SHIPPED, steps: int = 1500, weak_steps: int = 300, batch_size: int = 32, seed: int = 0
) -> None:
    """Teach a fresh tiny model to call tools, and then to do so seldom and badly.

    The first phase has conversations with one correct call and teaches copying numbers into a call and out of a reply;
    the second has weak conversations, which keep the skill and remove the habit.

    Args:
        out: output folder; default: the one in the package.
        steps: optimiser steps on correct conversations.
        weak_steps: optimiser steps on weak ones.
        batch_size: conversations per step, each used once.
        seed: of weights, conversations and their order.
    """
    schemas = {tool.schema.name: tool.schema for tool in (calculator, compute, python())}
    format, model = Compact(), TinyModel.new(seed=seed)
    engine = LocalEngine(model, betas=(0.9, 0.98), weight_decay=0.01)
    for phase, (count, weak, rate) in enumerate([(steps, 0.0, 3e-3), (weak_steps, 1.0, 1e-3)]):
        shown = conversations(schemas, count=count * batch_size, seed=2 * seed + phase, weak=weak)
        trajectories = [
            trajectory_from_messages(format, one.messages, one.tools, id=f"cold/{phase}/{i}")
            for i, one in enumerate(shown)
        ]
        stage = teach(
            source=scripted(trajectories=trajectories),
            batch_size=batch_size,
            micro_batch_rows=batch_size // 2,
            learning_rate=cosine(rate, steps=count, warmup_steps=count // 30, floor=rate / 10),
            restart=False,
        )
        metrics = stage(make_site(engine=engine, format=format, seed=seed, progress=True))
        print(f"phase {phase + 1}: loss {metrics[0]['loss']:.3f} -> {metrics[-1]['loss']:.3f}")
    model.save(out)
    print(f"wrote {out}")


if __name__ == "__main__":
    tyro.cli(rebuild_tiny)
