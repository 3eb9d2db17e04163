"""Trains what was chosen."""

from handaxe.methods.build import build
from handaxe.methods.chosen import Chosen
from handaxe.training.loop import train
from handaxe.training.pace import Keep
from handaxe.training.run import TrainResult

__all__ = ["run"]


def run(chosen: Chosen, keep: Keep) -> TrainResult:
    """Train what was chosen, its method's stages first.

    Args:
        chosen: recipe, base, world, engine, setting and their options.
        keep: where the run goes, and what is shown of it.
    """
    return train(**build(chosen, progress=keep.progress), keep=keep)
