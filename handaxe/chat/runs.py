"""What a run's folder says to a user of its policy: its tools, its system message, how long a turn was."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Message
from handaxe.methods.build import make_world, offered_tools
from handaxe.methods.run_folder import recorded_method, recorded_run
from handaxe.models.saved import find_saved
from handaxe.training.record.run_record import RunRecord

__all__ = ["RunFacts", "run_facts"]


class RunFacts(NamedTuple):
    """Facts of a run; empty ones for a policy that is no run's.

    folder      of the run
    made        the recipe that made it, "" for a script
    system      the messages that began every conversation
    max_tokens  of a turn; 0 unknown
    tools       names of the tools that were offered
    steps       done when the checkpoint was written; 0 unknown
    single      whether every task was a single question
    """

    folder: Path | None = None
    made: str = ""
    system: tuple[Message, ...] = ()
    max_tokens: int = 0
    tools: tuple[str, ...] = ()
    steps: int = 0
    single: bool = False

    @property
    def trained_with(self) -> str:
        """The names of the tools in brackets, "" where they are not known."""
        return f" (it was trained with {', '.join(self.tools)})" if self.tools else ""

    def need_folder(self) -> Path:
        """The folder of the run. Raises InputError where there is none."""
        if self.folder is None:
            raise InputError("this is no run's folder, so there is no record of what it was trained on: name a world")
        return self.folder

    def env(self) -> EnvFactory:
        """The environment of a recipe's run, with its tools.

        Raises:
            InputError: the run knows none: a script made it, or there is no run.
        """
        if self.folder is None:
            raise InputError(
                "which tools may it call? Name them, tools=[calculator] or --tools calculator; tools=[] or --tools "
                "none offers none"
            )
        if not self.made:
            raise InputError(
                f"the run in {self.folder} was made by a script, which keeps the names of its tools and not the tools"
                f"{self.trained_with}: name them, tools=[...] or --tools MODULE:ATTRIBUTE"
            )
        chosen = recorded_run(self.folder).spec
        world = make_world(chosen)
        return world.env(offered_tools(chosen.settings, world))


def run_facts(where: object) -> RunFacts:
    """What can be known of a policy from where it was saved.

    Args:
        where: as `models.load` takes it.

    Raises:
        InputError: the run's record is damaged.
    """
    saved = find_saved(where, whole=False) if isinstance(where, str | Path) else None
    if saved is None or saved.run is None or not (saved.run / "record.sqlite").exists():
        return RunFacts()
    made = recorded_method(saved.run)
    with RunRecord.open(saved.run) as record:
        arguments = record.about().get("arguments", {})
        steps = record.steps()
        groups = record.groups(step=steps[-1]) if steps else []
    sampling = arguments.get("sampling") if isinstance(arguments, Mapping) else None
    return RunFacts(
        folder=saved.run,
        made="" if made is None else str(made["name"]),
        system=_system(groups),
        max_tokens=_whole(sampling.get("max_tokens")) if isinstance(sampling, Mapping) else 0,
        steps=saved.steps,
        single=bool(groups) and all(sum(m.role == "user" for m in one.group.task.messages) == 1 for one in groups),
        tools=tuple(dict.fromkeys(tool.name for one in groups for attempt in one.group for tool in attempt.tools)),
    )


def _system(groups: list[Any]) -> tuple[Message, ...]:
    """The system messages with which all conversations of a step began."""
    begun = {tuple(m for m in one.group.task.messages if m.role == "system") for one in groups}
    return begun.pop() if len(begun) == 1 else ()


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else 0
