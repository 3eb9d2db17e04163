"""Source of traces of a specialist that was trained with one tool; the policy's weights stay as they were."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Restarts, Source, StageContext
from handaxe.core.records import RatedGroup, Task
from handaxe.curricula.in_order import in_order
from handaxe.training.stages.reinforce import reinforce
from handaxe.training.stages.sources import play_at

__all__ = ["single_tool_tasks", "specialist_traces"]

FOLDER = "specialist"


def specialist_traces(*, tasks: Sequence[Task], arguments: Mapping[str, Any], groups: int) -> Source:
    """Train a copy of the policy on the tasks of one tool, play it, and restore the weights.

        pi_0  --reinforcement on `tasks`-->  pi_1  --plays `groups` tasks-->  traces;   then pi_0 again

    Args:
        tasks: with one offered tool, see `single_tool_tasks`.
        arguments: of `train` for the specialist: credit, loss and sizes. With 0 steps there are no traces.
        groups: tasks that the specialist plays, `arguments["group_size"]` times each.

    Returns:
        A source: the scored groups of the specialist, none with 0 steps.

    Raises:
        InputError: no steps or group_size among the arguments; the engine cannot load weights.

    Example:
        steps 6, groups 8, group_size 8: six updates with the tool `locate`, then 64 traces

    Paper: arXiv:2512.04069 (SpaceTools), the single-tool specialist of its teaching phase.
    Differs: nothing.
    """
    if not {"steps", "group_size"} <= set(arguments):
        raise InputError("specialist_traces takes steps and group_size among the arguments of train")

    def source(site: StageContext) -> list[RatedGroup]:
        if arguments["steps"] == 0:
            return []
        if not isinstance(site.engine, Restarts):
            raise InputError(f"{type(site.engine).__name__} cannot load weights, as specialist_traces does")
        pool = in_order(tasks, seed=site.seed)
        with _folder(site) as out:
            start = out / "start"
            if not start.exists():
                site.engine.save(start)
            own = site._replace(out=None if site.out is None else out, tasks=pool)
            reinforce(arguments={**arguments, "tasks": pool})(own)
            sizes = {"steps": 1, "groups": groups, "group_size": arguments["group_size"]}
            played = play_at(own, {**sizes, "tasks": pool}, folder="played")
            site.engine.load_weights(start)
        return played

    return source


def single_tool_tasks(tasks: Sequence[Task], *, kinds: Sequence[str], tool: str) -> list[Task]:
    """Return the tasks of these kinds (metadata "kind"), each with one offered tool.

    Raises:
        InputError: no task is of these kinds.
    """
    found = [replace(task, tools=(tool,)) for task in tasks if task.metadata.get("kind") in kinds]
    if not found:
        raise InputError(f"none of {len(tasks)} tasks is of the kinds {', '.join(kinds)}")
    return found


@contextmanager
def _folder(site: StageContext) -> Iterator[Path]:
    """The specialist's folder within the stage's, or a temporary one."""
    if site.out is not None:
        folder = site.out / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)
