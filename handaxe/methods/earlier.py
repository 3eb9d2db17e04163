"""A part of a method's own reinforcement learning, as a stage before its loop."""

from __future__ import annotations

from typing import Any

from handaxe.methods.build import ROWS, loss_of
from handaxe.methods.method import Method
from handaxe.slots import Curriculum, Stage
from handaxe.training.stages.reinforce import reinforce

__all__ = ["earlier", "learning"]


def earlier(
    method: Method,
    *,
    steps: int,
    groups: int = 12,
    group_size: int = 8,
    learning_rate: float = 3e-4,
    tasks: Curriculum | None = None,
) -> Stage:
    """Make a stage that trains as the method does before something else is done in the run.

    Args:
        method: whose credit, loss and selection it takes; what it selects with, and credits by, keeps no state, since
            the run's own loop begins anew with it.
        steps, groups, group_size, learning_rate: of `train`.
        tasks: what it trains on; None: the tasks of the run.

    Example:
        replace(method, stages=(earlier(method, steps=6), prefer(...))): six steps, preferences, then the run's steps
    """
    sizes: dict[str, Any] = {"steps": steps, "groups": groups, "group_size": group_size}
    sizes |= {"learning_rate": learning_rate, "micro_batch_rows": ROWS}
    return reinforce(arguments={**learning(method), **sizes, **({} if tasks is None else {"tasks": tasks})})


def learning(method: Method) -> dict[str, Any]:
    """How a method learns, as arguments of `train`."""
    return {
        "credit": method.credit,
        "loss": loss_of(method),
        "shape": method.shape,
        "select": method.select,
        "annotate": method.annotate,
        "epochs": method.epochs,
        "minibatches": method.minibatches,
    }
