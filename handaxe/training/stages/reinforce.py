"""Reinforcement learning as a part of a run."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from handaxe.core.protocols import Stage, StageContext
from handaxe.training.loop.config import RunConfig
from handaxe.training.loop.train import train
from handaxe.training.loop.train_arguments import check_train_arguments
from handaxe.training.sft.supervised import keep_at

__all__ = ["reinforce"]

KEEP = RunConfig()
ROLES = ("engine", "format", "env", "tasks", "rollout", "reward", "sampling", "seed")


def reinforce(*, arguments: Mapping[str, Any], keep: RunConfig = KEEP) -> Stage:
    """Make a stage that is one call of `train` with the roles of its site.

    Args:
        arguments: of `train`: credit and loss at least; a role among them stands in place of the site's.
        keep: loggers and checkpoints; its folder, `resume` and `progress` are those of the site.

    Returns:
        A stage: metrics of each step.

    Raises:
        InputError: for a name that `train` does not know, or that the site decides.
    """
    check_train_arguments(arguments)

    def stage(site: StageContext) -> list[dict[str, float]]:
        here = keep_at(site)
        kept = replace(keep, out=here.out, resume=here.resume, progress=here.progress)
        roles = {name: getattr(site, name) for name in ROLES}
        return train(**{**roles, **arguments}, keep=kept).metrics

    return stage
