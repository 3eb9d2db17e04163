"""Rebuild the shipped tiny checkpoint with vision: `python -m handaxe.training.sft.rebuild_tiny_vision`.

text weights of "tiny" + a fresh vision tower
  --reading lessons------------------> reads a zoomed plate
  --reading and place lessons--------> also finds the red plate in an overview
  --demonstrations of world plates---> zooms to it, and reads it
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
import tyro

import handaxe.models.load
from handaxe.core.images import Image
from handaxe.core.records import Message, Trajectory
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.load import load
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.ops.seeds import derive_seed
from handaxe.training.loop.schedule import cosine
from handaxe.training.sft.cold_start import demonstrations
from handaxe.training.sft.scripted import trajectory_from_messages
from handaxe.training.stages.context import make_site
from handaxe.training.stages.sources import scripted
from handaxe.training.stages.teach import teach
from handaxe.worlds.plates.scene import SHOWN, UNIT, Plate, canvas, draw_plates, overview
from handaxe.worlds.plates.world import plates

__all__ = ["rebuild_tiny_vision"]

SHIPPED = Path(handaxe.models.load.__file__).with_name("tiny_vision_checkpoint")
PATCH = 8
RATE = 2e-3
WARMUP = 30
"""First steps, over which the learning rate of the lessons increases."""


def rebuild_tiny_vision(
    *,
    out: Path = SHIPPED,
    reading_steps: int = 200,
    place_steps: int = 150,
    steps: int = 200,
    batch_size: int = 64,
    seed: int = 0,
) -> None:
    """Teach the tiny policy to find a plate of the world `plates`, to zoom, and to read.

    The lessons are conversations of one answer, about a third as long as a demonstration: the policy learns to see in
    them, and to act in the demonstrations. All handwriting is that of the training split. Weights are written in
    bfloat16.

    Args:
        out: output folder; default: the one in the package.
        reading_steps: optimiser steps on zoomed plates and their numbers.
        place_steps: optimiser steps on zoomed plates, and as many overviews and the place of the red plate.
        steps: optimiser steps on demonstrations of the expert, with half of the batch size.
        batch_size: lessons per step, each used once.
        seed: of the vision tower, lessons and their order.
    """
    model = TinyModel.new(TinyConfig(patch=PATCH), seed=seed)
    model.module.load_state_dict(load("tiny").model.module.state_dict(), strict=False)
    format = Compact(model.image_processor)
    engine = LocalEngine(model, betas=(0.9, 0.98), weight_decay=0.01)
    half = batch_size // 2

    def warm(step: int) -> float:
        return RATE * min(1.0, (step + 1) / WARMUP)

    phases: Sequence[tuple[str, Sequence[Trajectory], int, float | Callable[[int], float]]] = [
        ("reading", _lessons(format, reading_steps * batch_size, "", seed), batch_size, warm),
        ("places", _lessons(format, place_steps * batch_size, "places", seed), batch_size, RATE),
        (
            "demonstrations",
            _demonstrations(format, steps * half, seed),
            half,
            cosine(RATE, steps=max(1, steps), floor=RATE / 20),
        ),
    ]
    for name, conversations, size, rate in phases:
        if not conversations:
            continue
        stage = teach(
            source=scripted(trajectories=conversations),
            batch_size=size,
            micro_batch_rows=size,
            learning_rate=rate,
            restart=False,
        )
        metrics = stage(make_site(engine=engine, format=format, seed=derive_seed(seed, name), progress=True))
        print(f"{name}: loss {metrics[0]['loss']:.3f} -> {metrics[-1]['loss']:.3f}")
    model.save(out, dtype=torch.bfloat16)
    print(f"wrote {out}")


def _lessons(format: Compact, count: int, kind: str, seed: int) -> list[Trajectory]:
    """Make lessons: zoomed plates, and for the kind "places" every second time an overview."""
    found = []
    for number in range(count):
        rng = random.Random(derive_seed("plates lesson", kind, seed, number))
        scene = tuple(draw_plates(rng, "train"))
        if kind and number % 2:
            asked = Message.of("user", "red at?", overview(scene))
            answer = f"{scene[0].left} {scene[0].top}"
        else:
            plate = rng.choice(scene)
            asked, answer = Message.of("tool", _zoomed(plate)), plate.number
        messages = [asked, Message("assistant", answer)]
        found.append(trajectory_from_messages(format, messages, id=f"lesson/{kind}{number}"))
    return found


def _zoomed(plate: Plate) -> Image:
    left, top, right, bottom = (UNIT * side for side in plate.box)
    return canvas((plate,)).crop((left, top, right, bottom), longest=SHOWN)


def _demonstrations(format: Compact, count: int, seed: int) -> list[Trajectory]:
    world = plates()
    tasks = world.tasks("train", max(1, count), derive_seed(seed, "demonstrations"))
    return demonstrations(world, world.env(()), tasks, count=count, seed=seed, format=format)


if __name__ == "__main__":
    tyro.cli(rebuild_tiny_vision)
