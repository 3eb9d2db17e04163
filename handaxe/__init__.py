"""handaxe trains language models to use tools, with reinforcement learning.

    import handaxe as hx
    from handaxe import credit, losses, rewards, rollouts, tools, worlds

The names of VERBS and the rooms are imported when they are first asked for.
"""

import importlib
from typing import TYPE_CHECKING, Any

from handaxe.core.errors import Failed, HandaxeError, Retry
from handaxe.core.records import Group, Message, Sampling, Scores, Task, Trajectory
from handaxe.tools import tool

if TYPE_CHECKING:
    from handaxe.chat.use import use as use
    from handaxe.engines.local.engine import LocalEngine as LocalEngine
    from handaxe.evaluation.run import evaluate as evaluate
    from handaxe.models.exporting.export import export as export
    from handaxe.models.load import load as load
    from handaxe.training.loop.config import AsyncConfig as AsyncConfig
    from handaxe.training.loop.config import RunConfig as RunConfig
    from handaxe.training.loop.train import train as train

__all__ = [
    "Failed",
    "Group",
    "HandaxeError",
    "Message",
    "Retry",
    "Sampling",
    "Scores",
    "Task",
    "Trajectory",
    "tool",
]
__version__ = "0.1.0"

VERBS = {
    "Keep": "handaxe.training.loop.config",
    "LocalEngine": "handaxe.engines.local.engine",
    "Pace": "handaxe.training.loop.config",
    "evaluate": "handaxe.evaluation.run",
    "export": "handaxe.models.exporting.export",
    "load": "handaxe.models.load",
    "train": "handaxe.training.loop.train",
    "use": "handaxe.chat.use",
}


def __getattr__(name: str) -> Any:
    if name in VERBS:
        return getattr(importlib.import_module(VERBS[name]), name)
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
        raise AttributeError(f"handaxe has no {name!r}") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *VERBS})
