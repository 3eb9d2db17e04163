"""`handaxe export RUN --out FOLDER`: write a policy for plain transformers and chat servers."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import tyro

from handaxe.chat.runs import RunFacts, run_facts
from handaxe.commands.output import console, note
from handaxe.core.records import Message, Task, ToolSchema
from handaxe.envs.tool_chat import tool_chat
from handaxe.methods.lookup import tools_named
from handaxe.methods.run_folder import recorded_method
from handaxe.models.exporting.export import check_free, export
from handaxe.models.load import load
from handaxe.training.record.run_record import RunRecord

__all__ = ["ExportOptions", "main"]


@dataclass(frozen=True)
class ExportOptions:
    """Write a policy as a Hugging Face folder whose chat template gives exactly the ids that it was trained on.

    Args:
        model: folder of a run, a stage or a checkpoint, or what else `handaxe.load` takes.
        out: the folder to write; made here, or empty.
        tools: names of the tools that it was trained with, or MODULE:ATTRIBUTE of your own, for tools.json and the
            README.md; those of the run unless told otherwise.
        adapter: write a LoRA adapter alone instead of adding it into its base's weights.
        base: where the base of a LoRA checkpoint lies now, when it is no longer where it was.
    """

    model: tyro.conf.Positional[str]
    out: Path
    tools: tuple[str, ...] | None = None
    adapter: bool = False
    base: str | None = None


def main(arguments: list[str]) -> int:
    """Export; returns the exit code."""
    options = tyro.cli(ExportOptions, args=arguments, prog="handaxe export")
    check_free(options.out)
    known = run_facts(options.model)
    model, format = load(options.model, base=options.base)
    done = export(
        model,
        format,
        options.out,
        adapter=options.adapter,
        tools=_recorded(known) if options.tools is None else _named(options.tools),
        system="\n\n".join(message.content for message in known.system),
        about=_about(options.model, known),
    )
    terminal = console()
    note(terminal, "exported", f"{options.model} to {done.folder}")
    note(terminal, "ids", f"the same as in training in {done.compared} conversations of {done.compared}")
    if done.leaky:
        names = " ".join(done.leaky[:5])
        note(terminal, "careful", f"text can make {len(done.leaky)} control tokens there ({names}); see its README.md")
    note(terminal, "use it", f"its README.md says how; or handaxe serve --model {done.folder}")
    return 0


def _recorded(known: RunFacts) -> list[ToolSchema]:
    """The tools that were offered in the last step of a run, in the order of the prompt."""
    if known.folder is None:
        return []
    with RunRecord.open(known.folder) as record:
        steps = record.steps()
        attempts = record.trajectories(step=steps[-1]) if steps else []
    return list({tool.name: tool for attempt in attempts for tool in attempt.tools}.values())


def _named(names: tuple[str, ...]) -> list[ToolSchema]:
    env = tool_chat(tools_named(names))(Task("export", (Message("user", ""),)))
    try:
        return list(env.start()[1])
    finally:
        env.close()


def _about(model: str, known: RunFacts) -> dict[str, str]:
    """Where the policy comes from."""
    made = recorded_method(known.folder) if known.folder is not None else None
    arguments = made["arguments"] if made is not None and isinstance(made["arguments"], Mapping) else {}
    about = {
        "from": model,
        "recipe": known.made,
        "world": arguments.get("world"),
        "started from": arguments.get("model"),
    }
    about["command"] = "" if made is None else made.get("command")
    return {name: str(value) for name, value in about.items() if value}
