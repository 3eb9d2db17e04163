"""A part of a method's own reinforcement learning, as a stage before its loop."""

from __future__ import annotations

from typing import Any

from handaxe.core.protocols import Curriculum, Stage
from handaxe.methods.build import ROWS, loss_of
from handaxe.methods.method import Method
from handaxe.training.stages.reinforce import reinforce

__all__ = ["earlier", "learning"]


def earlier(method: Method, *, steps: int, tasks: Curriculum | None = None) -> Stage:
    """Make a stage that trains as the method does before something else is done in the run.

    Args:
        method: whose credit, loss and selection it takes, and groups, group size and learning rate of its setting; what
            it selects with, and credits by, keeps no state, since the run's own loop begins anew with it.
        steps: of this part; the run's own steps come after them.
        tasks: what it trains on; None: the tasks of the run.

    Example:
        replace(method, stages=(earlier(method, steps=6), prefer(...))): six steps, preferences, then the run's steps
    """
    own = method.settings
    sizes: dict[str, Any] = {"steps": steps, "groups": own.groups, "group_size": own.group_size}
    sizes |= {"learning_rate": own.learning_rate, "micro_batch_rows": ROWS}
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
        "enough": method.enough,
    }
