"""`handaxe push RUN OWNER/NAME`: share a policy on the Hugging Face hub, with a model card."""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from handaxe.chat.run_facts import RunFacts, run_facts
from handaxe.commands.export import recorded_tools, tool_schemas
from handaxe.commands.output import command_line, console, note
from handaxe.commands.push_card import BASES, card_sections, check_no_secrets, public_text, rewrite_json
from handaxe.commands.run_outcome import read_outcome
from handaxe.core.errors import InputError
from handaxe.methods.run_folder import recorded_method
from handaxe.models.exporting.export_policy import export_policy
from handaxe.models.exporting.hub_upload import HubRepository
from handaxe.models.load import load

__all__ = ["PushOptions", "main"]


@dataclass(frozen=True)
class PushOptions:
    """Share the policy of a run on the Hugging Face hub: weights, chat template, tools and a model card.

    The token is the one of `hf auth login`, or of the environment variable HF_TOKEN. HF_ENDPOINT names another hub.

    Args:
        run: folder of a run, a stage or a checkpoint.
        repository: OWNER/NAME of the repository.
        private: make a private repository.
        update: add a commit to an existing repository.
        adapter: upload only the LoRA adapter instead of merging it into the weights.
        tools: names of the tools of training, or MODULE:ATTRIBUTE of your own; by default the tools of the run.
        base: present location of a LoRA checkpoint's base model, if it has moved.
        token_env: environment variable with the token.
        keep: write the uploaded files to this folder, too.
        dry_run: write the files to --keep and upload nothing.
    """

    run: tyro.conf.Positional[Path]
    repository: tyro.conf.Positional[str]
    private: bool = False
    update: bool = False
    adapter: bool = False
    tools: tuple[str, ...] | None = None
    base: str | None = None
    token_env: str = ""
    keep: Path | None = None
    dry_run: bool = False


def main(arguments: list[str]) -> int:
    """Push; returns the exit code."""
    options = tyro.cli(PushOptions, args=arguments, prog="handaxe push")
    facts = run_facts(options.run)
    if facts.folder is None:
        raise InputError(f"{options.run} is no run, so its method and results are unknown: give the folder of a run")
    if options.dry_run and options.keep is None:
        raise InputError("--dry-run uploads nothing: name a folder for the files, --keep FOLDER")
    hub = HubRepository(options.repository, token=_token(options)) if not options.dry_run else None
    if hub is not None:
        hub.check(update=options.update)
    terminal = console()
    with tempfile.TemporaryDirectory(prefix="handaxe-push-") as home:
        folder = Path(home) / "export" if options.keep is None else options.keep
        with terminal.status("writing the files", spinner="line"):
            _write(options, facts, folder, token="" if hub is None else hub.token)
        if hub is None:
            note(terminal, "written", str(folder))
            return 0
        with terminal.status("uploading", spinner="line"):
            address = hub.upload(folder, private=options.private, message=f"Policy of {facts.steps} steps")
    note(terminal, "pushed", address)
    note(terminal, "chat", command_line(["chat", options.repository, "--tools", "..."]))
    return 0


def _token(options: PushOptions) -> str:
    if not options.token_env:
        return ""
    if not os.environ.get(options.token_env):
        raise InputError(f"the environment variable {options.token_env} is not set; set it to the token")
    return os.environ[options.token_env]


def _write(options: PushOptions, facts: RunFacts, folder: Path, *, token: str) -> None:
    """Write the export, and extend its README.md by training, results and commands."""
    assert facts.folder is not None
    method = recorded_method(facts.folder) or {}
    arguments: Mapping[str, Any] = method.get("arguments", {})
    initial = str(arguments.get("model", ""))
    base = BASES.get(initial, initial)
    about = {
        "method": facts.method,
        "world": public_text(str(arguments.get("world", ""))),
        "initial model": public_text(base),
    }
    tools = recorded_tools(facts) if options.tools is None else tool_schemas(options.tools)
    model, format = load(options.run, base=options.base)
    export_policy(
        model,
        format,
        folder,
        adapter=options.adapter,
        tools=tools,
        system="\n\n".join(message.content for message in facts.system),
        about=about,
    )
    card = (folder / "README.md").read_text(encoding="utf-8")
    if "/" in base and public_text(base) == base:
        card = card.replace("---\n", f"---\nbase_model: {base}\n", 1)
    sections = card_sections(
        read_outcome(facts.folder),
        arguments=arguments,
        command=str(method.get("command", "")),
        repository=options.repository,
    )
    (folder / "README.md").write_text(f"{card.rstrip()}\n\n{sections}", encoding="utf-8")
    rewrite_json(folder)
    check_no_secrets(folder, token=token or "-" * 64, paths=(Path.home(), Path.cwd(), facts.folder.resolve()))
