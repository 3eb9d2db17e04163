"""Trains what was chosen."""

from handaxe.methods.build import build, make_method, make_world
from handaxe.methods.chosen import Chosen
from handaxe.training.loop import train
from handaxe.training.pace import Keep
from handaxe.training.run import TrainResult
from handaxe.training.run_stages import run_stages
from handaxe.training.site import make_site

__all__ = ["run"]


def run(chosen: Chosen, keep: Keep) -> TrainResult:
    """Train what was chosen, its method's stages first, in OUT/stages.

    Args:
        chosen: recipe, base, world, engine, setting and their options.
        keep: where the run goes, and what is shown of it.
    """
    made = build(chosen, progress=keep.progress)
    if stages := make_method(chosen, make_world(chosen)).stages:
        roles = {name: made[name] for name in ("engine", "format", "env", "tasks", "rollout", "reward", "seed")}
        out = None if keep.out is None else keep.out / "stages"
        sampling = made["evaluate"].sampling
        site = make_site(**roles, sampling=sampling, out=out, resume=keep.resume, progress=keep.progress)
        if stopped := run_stages(stages, site).stopped:
            return TrainResult([], keep.out, stopped)
    return train(**made, keep=keep)
