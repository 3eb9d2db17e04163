"""Stage of reinforcement learning."""

from collections.abc import Mapping
from typing import Any

from handaxe.core.protocols import Stage, StageContext
from handaxe.training.loop.config import RunConfig
from handaxe.training.loop.train import train
from handaxe.training.loop.train_arguments import check_train_arguments
from handaxe.training.sft.supervised import stage_run

__all__ = ["reinforce"]

RUN = RunConfig()
ROLES = ("engine", "format", "env", "tasks", "rollout", "reward", "sampling", "seed")


def reinforce(*, arguments: Mapping[str, Any]) -> Stage:
    """Make a stage that calls `train` once, with the roles of its context.

    Args:
        arguments: of `train`: at least credit and loss. A role among them replaces the context's. The context sets
            folder, `resume` and `progress` of `run`.

    Returns:
        A stage: metrics of each step.

    Raises:
        InputError: `train` lacks an argument, or the context sets it.
    """
    check_train_arguments(arguments)

    def stage(context: StageContext) -> list[dict[str, float]]:
        roles = {name: getattr(context, name) for name in ROLES}
        run = stage_run(context, arguments.get("run", RUN))
        return train(**{**roles, **arguments, "run": run}).metrics

    return stage
