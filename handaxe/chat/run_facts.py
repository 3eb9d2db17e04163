"""Reads from a run's folder the facts for a chat with the policy: tools, system message, token limit of a turn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Message
from handaxe.methods.build import make_world, offered_tools
from handaxe.methods.run_folder import recorded_method, recorded_run
from handaxe.models.saved_policy import find_saved_policy
from handaxe.training.record.run_record import RunRecord

__all__ = ["RunFacts", "run_facts"]


class RunFacts(NamedTuple):
    """Facts of a run; default values for a policy without a run.

    folder      of the run
    method      name of the method, "" for a run of a script
    system      system messages at the start of every conversation
    max_tokens  token limit of a turn; 0: unknown
    tools       names of the offered tools
    steps       training steps of the checkpoint; 0: unknown
    single      True if every task was a single question
    """

    folder: Path | None = None
    method: str = ""
    system: tuple[Message, ...] = ()
    max_tokens: int = 0
    tools: tuple[str, ...] = ()
    steps: int = 0
    single: bool = False

    @property
    def trained_with(self) -> str:
        """Names of the tools in brackets, "" if unknown."""
        return f" (trained with {', '.join(self.tools)})" if self.tools else ""

    def need_folder(self) -> Path:
        """The folder of the run. Raises InputError if there is none."""
        if self.folder is None:
            raise InputError("not the folder of a run, so its training tasks are unknown: name a world")
        return self.folder

    def env(self) -> EnvFactory:
        """The environment of a method's run, with tools.

        Raises:
            InputError: a script made the run, or there is no run; the tools are then unknown.
        """
        if self.folder is None:
            raise InputError(
                "the model is not the folder of a run, so the tools are unknown: name them, tools=[calculator] or "
                "--tools calculator; tools=[] or --tools none offers none"
            )
        if not self.method:
            raise InputError(
                f"a script made the run in {self.folder}; the run records the names of its tools and not the tools"
                f"{self.trained_with}: name them, tools=[...] or --tools MODULE:ATTRIBUTE"
            )
        spec = recorded_run(self.folder).spec
        world = make_world(spec)
        return world.env(offered_tools(spec.settings, world))


def run_facts(where: object) -> RunFacts:
    """Read the facts of the run of a saved policy.

    Args:
        where: argument of `models.load`.

    Raises:
        InputError: the record of the run is damaged.
    """
    saved = find_saved_policy(where, verify=False) if isinstance(where, str | Path) else None
    if saved is None or saved.run is None or not (saved.run / "record.sqlite").exists():
        return RunFacts()
    method = recorded_method(saved.run)
    with RunRecord.open(saved.run) as record:
        arguments = record.about().get("arguments", {})
        steps = record.steps()
        groups = record.groups(step=steps[-1]) if steps else []
    sampling = arguments.get("sampling") if isinstance(arguments, Mapping) else None
    return RunFacts(
        folder=saved.run,
        method="" if method is None else str(method["name"]),
        system=_system(groups),
        max_tokens=_whole(sampling.get("max_tokens")) if isinstance(sampling, Mapping) else 0,
        steps=saved.steps,
        single=bool(groups) and all(sum(m.role == "user" for m in one.group.task.messages) == 1 for one in groups),
        tools=tuple(dict.fromkeys(tool.name for one in groups for rollout in one.group for tool in rollout.tools)),
    )


def _system(groups: list[Any]) -> tuple[Message, ...]:
    """System messages of a step's tasks, if all tasks have the same."""
    found = {tuple(m for m in one.group.task.messages if m.role == "system") for one in groups}
    return found.pop() if len(found) == 1 else ()


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else 0
