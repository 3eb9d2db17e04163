"""Model card of a pushed policy: base, method, settings, results with intervals and commands, without local paths."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from handaxe.commands.run_outcome import SHOWN, Outcome
from handaxe.core.errors import InputError
from handaxe.core.escape import escape
from handaxe.methods.method import RunSettings

__all__ = ["BASES", "card_sections", "check_no_secrets", "public_text", "rewrite_json"]

BASES = {"smollm2": "HuggingFaceTB/SmolLM2-135M-Instruct"}
"""Names of packaged models on the hub."""
CHECKED = ("README.md", "*.json", "*.jinja")
VOCABULARY = ("tokenizer.json", "vocab.json")
"""Files of a tokenizer, which may hold any word of the language."""
URL = re.compile(r"\w+://[^\s,\"']+")
SECRET = re.compile(r"\b(hf_|sk-|ghp_|xox[bp]-)[\w-]{8,}")


def card_sections(outcome: Outcome, *, arguments: Mapping[str, Any], command: str, repository: str) -> str:
    """Write the sections about training for README.md.

    Args:
        outcome: of the run.
        arguments: of the method, as recorded; settings with default values are left out.
        command: command line of the run, "" for a script.
        repository: OWNER/NAME.
    """
    defaults = {name: one.default for name, one in RunSettings.__dataclass_fields__.items()}
    rows = [
        (name, value)
        for name, value in arguments.items()
        if name not in defaults or (list(value) if isinstance(value, tuple) else value) != _plain(defaults[name])
    ]
    parts = ["## Training\n", f"{len(outcome.metrics)} steps. Settings that differ from the defaults:\n"]
    parts.append("\n".join(f"- {_cell(name)}: `{_code(value)}`" for name, value in rows) + "\n")
    parts.append(_results(outcome))
    lines = [f"handaxe chat {repository}", f"handaxe serve --model {repository}"]
    lines = ([public_text(command)] if command else []) + lines
    parts.append("## Commands\n\n```\n" + "\n".join(line.replace("`", "'") for line in lines) + "\n```\n")
    return "\n".join(parts)


def _results(outcome: Outcome) -> str:
    if outcome.before is None:
        return "## Results\n\nThe run has no evaluation.\n"
    last = outcome.after
    tasks = len((last or outcome.before).tasks)
    lines = [f"## Results\n\n{tasks} held-out tasks, with 95 % intervals over tasks.\n"]
    lines.append("| metric | before training |" + (" after training | difference |" if last else ""))
    lines.append("|---|---|" + ("---|---|" if last else ""))
    changes = {} if outcome.comparison is None else outcome.comparison.differences
    for name in SHOWN:
        if name in outcome.before.metrics:
            row = [name, _interval(outcome.before.metrics[name])]
            if last is not None:
                row += [_interval(last.metrics.get(name)), _interval(changes.get(name))]
            lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def _interval(found: Any) -> str:
    if found is None:
        return "-"
    value = found.value if hasattr(found, "value") else found.difference
    return f"{value:.3g} [{found.low:.3g}, {found.high:.3g}]"


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _cell(text: str) -> str:
    return re.sub(r"[^\w.\-/ ]", "", text)


def _code(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return escape(public_text(text)).replace("`", "'")


def public_text(text: str) -> str:
    """Replace each path of this machine by its last part, and each address and token by a placeholder.

    Example:
        "handaxe train grpo --out /home/me/runs/a --model smollm2" -> "handaxe train grpo --out a --model smollm2"
    """
    text = SECRET.sub("TOKEN", URL.sub("URL", text))
    return re.sub(r"[^\s\"',=]+", lambda found: _public_word(found.group()), text)


def _public_word(word: str) -> str:
    is_path = os.path.isabs(word) or word.startswith(("~", "./", "../")) or "\\" in word
    if is_path or ("/" in word and Path(word).exists()):
        return re.split(r"[/\\]", word.rstrip("/\\"))[-1] or "FOLDER"
    return word


def rewrite_json(folder: Path) -> None:
    """Replace absolute paths in the JSON files of a folder by their last parts, such as the origin of a tokenizer."""
    for file in folder.glob("*.json"):
        if file.name in VOCABULARY:
            continue
        body = json.loads(file.read_text(encoding="utf-8"))
        if (changed := _without_paths(body)) != body:
            file.write_text(json.dumps(changed, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _without_paths(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_paths(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_paths(item) for item in value]
    return Path(value).name if isinstance(value, str) and os.path.isabs(value) and "\n" not in value else value


def check_no_secrets(folder: Path, *, token: str, paths: Sequence[Path]) -> None:
    """Raise InputError if a file to be pushed contains the token, another token, or one of the paths.

    Args:
        folder: of the export.
        token: of the hub.
        paths: such as the home folder; folders of one part are not checked.
    """
    forbidden = {token: "the token of the hub"}
    forbidden |= {str(path): f"the path {path}" for path in paths if len(path.parts) > 2}
    for file in (file for pattern in CHECKED for file in folder.glob(pattern) if file.name not in VOCABULARY):
        text = file.read_text(encoding="utf-8")
        found = next((name for secret, name in forbidden.items() if secret in text), "")
        if found or SECRET.search(text):
            raise InputError(
                f"{file.name} would contain {found or 'a token'}, so nothing was pushed: remove it from the system "
                "message, the tools or the chat template"
            )
