"""Stage with a method's own reinforcement learning, before later stages and the training loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from handaxe.core.deferred import DeferredModule
from handaxe.core.protocols import Curriculum, Stage
from handaxe.methods.method import Method
from handaxe.training.stages.reinforce import reinforce

if TYPE_CHECKING:
    from handaxe.methods import build as building
else:
    building = DeferredModule("handaxe.methods.build")

__all__ = ["rl_stage", "update_arguments"]


def rl_stage(method: Method, *, steps: int, tasks: Curriculum | None = None) -> Stage:
    """Make a stage with the credit, loss, selection and sizes of a method.

    Args:
        method: supplies credit, loss and selection, and groups, group size and learning rate of its settings. Its
            selector and credit must be stateless: the training loop uses the same objects again from the start.
        steps: training steps of the stage; the steps of the run follow.
        tasks: training tasks; None: the tasks of the run.

    Example:
        replace(method, stages=(rl_stage(method, steps=6), prefer(...))): six steps, preferences, then the run's steps
    """
    own = method.settings
    sizes: dict[str, Any] = {"steps": steps, "groups": own.groups, "group_size": own.group_size}
    sizes["learning_rate"] = own.learning_rate
    return reinforce(arguments={**update_arguments(method), **sizes, **({} if tasks is None else {"tasks": tasks})})


def update_arguments(method: Method) -> dict[str, Any]:
    """Arguments of `train` for a method's policy update."""
    return {
        "credit": method.credit,
        "loss": building.make_loss(method),
        "transform": method.transform,
        "select": method.select,
        "updates": building.make_updates(method),
    }
