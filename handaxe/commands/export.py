"""`handaxe export RUN --out FOLDER`: write a policy as a folder for transformers and chat servers."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import tyro

from handaxe.chat.run_facts import RunFacts, run_facts
from handaxe.commands.output import check_folder, command_line, console, note
from handaxe.core.records import Message, Task, ToolSchema
from handaxe.envs.tool_chat import tool_chat
from handaxe.methods.lookup import find_tools
from handaxe.methods.run_folder import recorded_method
from handaxe.models.exporting.export_policy import check_output_free, export_policy
from handaxe.models.load import load
from handaxe.training.record.run_record import RunRecord

__all__ = ["ExportOptions", "main", "recorded_tools", "tool_schemas"]


@dataclass(frozen=True)
class ExportOptions:
    """Write a policy as a Hugging Face folder with a chat template that gives exactly the token ids of training.

    Args:
        model: folder of a run, a stage or a checkpoint, or another argument of `handaxe.load`.
        out: folder to write; new or empty.
        tools: names of the tools of training, or MODULE:ATTRIBUTE of your own, for tools.json and README.md; by default
            the tools of the run.
        adapter: write only the LoRA adapter instead of merging it into the weights.
        base: present location of a LoRA checkpoint's base model, if it has moved.
    """

    model: tyro.conf.Positional[str]
    out: Path
    tools: tuple[str, ...] | None = None
    adapter: bool = False
    base: str | None = None


def main(arguments: list[str]) -> int:
    """Export; returns the exit code."""
    options = tyro.cli(ExportOptions, args=arguments, prog="handaxe export")
    check_output_free(options.out)
    check_folder(options.out)
    facts = run_facts(options.model)
    tools = recorded_tools(facts) if options.tools is None else tool_schemas(options.tools)
    model, format = load(options.model, base=options.base)
    done = export_policy(
        model,
        format,
        options.out,
        adapter=options.adapter,
        tools=tools,
        system="\n\n".join(message.content for message in facts.system),
        about=_about(options.model, facts),
    )
    terminal = console()
    note(terminal, "exported", f"{options.model} to {done.folder}")
    note(terminal, "ids", f"equal to training in {done.compared} conversations of {done.compared}")
    if done.leaky:
        names = " ".join(done.leaky[:5])
        note(terminal, "caution", f"text can produce {len(done.leaky)} control tokens ({names}); see the README.md")
    if done.images == "one":
        note(terminal, "caution", "transformers makes other ids of a conversation with two images; see the README.md")
    note(terminal, "read", str(done.folder / "README.md"))
    note(terminal, "serve", command_line(["serve", "--model", str(done.folder)]))
    return 0


def recorded_tools(facts: RunFacts) -> list[ToolSchema]:
    """Tools offered in the last step of a run, in the order of the prompt."""
    if facts.folder is None:
        return []
    with RunRecord.open(facts.folder) as record:
        steps = record.steps()
        rollouts = record.trajectories(step=steps[-1]) if steps else []
    return list({tool.name: tool for rollout in rollouts for tool in rollout.tools}.values())


def tool_schemas(names: tuple[str, ...]) -> list[ToolSchema]:
    """Schemas of named tools."""
    env = tool_chat(find_tools(names))(Task("export", (Message("user", ""),)))
    try:
        return list(env.start()[1])
    finally:
        env.close()


def _about(model: str, facts: RunFacts) -> dict[str, str]:
    """Origin of the policy, for the README.md."""
    method = recorded_method(facts.folder) if facts.folder is not None else None
    arguments = method["arguments"] if method is not None and isinstance(method["arguments"], Mapping) else {}
    about = {
        "from": model,
        "method": facts.method,
        "world": arguments.get("world"),
        "initial model": arguments.get("model"),
    }
    about["command"] = "" if method is None else method.get("command")
    return {name: str(value) for name, value in about.items() if value}
