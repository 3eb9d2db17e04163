"""The chat format of a run, kept in its folder, so that the policy can be used with the very ids it was trained on.

    RUN/format/format.json     which format, and its options
              /tokenizer.json ...  the tokenizer, with its chat template, for formats that have one

JSON and what tokenizers write: reading it never runs code, so a format of the user's own is kept by name only.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handaxe.core.errors import CheckpointError, InputError
from handaxe.core.protocols import ChatFormat, Stateful
from handaxe.models.calls import TaggedCalls
from handaxe.models.chat_template import ChatTemplate
from handaxe.models.compact import Compact
from handaxe.models.hermes import Hermes
from handaxe.models.transcript import Transcript

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["FORMAT", "keep_format", "read_format"]

FORMAT = "format"
"""The folder's name within a run's."""
PLAIN: dict[str, type[Compact | Transcript]] = {"compact": Compact, "transcript": Transcript}
STATE = "state"
SPOKEN = {"chat_template": ChatTemplate, "hermes": Hermes}
"""Formats that are made of a tokenizer."""


def keep_format(run: Path, format: ChatFormat) -> None:
    """Keep a run's format in its folder, or see that it is the one that is kept there.

    Raises:
        InputError: it cannot be written.
        CheckpointError: the run was begun with another format.
    """
    folder, facts = run / FORMAT, _facts(format)
    if folder.exists():
        if difference := _difference(_read_facts(folder), json.loads(json.dumps(facts))):
            raise CheckpointError(
                f"the run in {run} was begun with another chat format ({difference}): go on with that one, or start "
                "anew in another folder"
            )
        return
    part = run / f"{FORMAT}.part"
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        if isinstance(format, ChatTemplate | Hermes) and facts["format"] in SPOKEN:
            format.origin.tokenizer.save_pretrained(part)
        (part / "format.json").write_text(json.dumps(facts, indent=1) + "\n")
        os.replace(part, folder)
    except OSError as error:
        raise InputError(f"the chat format cannot be written to {folder}: {error}") from error


def read_format(run: Path) -> ChatFormat:
    """The format that `keep_format` kept.

    Raises:
        InputError: there is none, as in a run of an earlier handaxe, or it is of the user's own.
        CheckpointError: the files are damaged.
    """
    folder = run / FORMAT
    if not folder.is_dir():
        raise InputError(
            f"{run} keeps no chat format (an earlier handaxe made the run, or the checkpoint was taken out of it): say "
            "which, load(..., format=...)"
        )
    facts = _read_facts(folder)
    name = facts["format"]
    if name in PLAIN:
        return PLAIN[name]()
    if name not in SPOKEN:
        raise InputError(
            f"the run in {run} was trained with a chat format of your own, {facts.get('own')}: hand it over, load(..., "
            "format=...)"
        )
    try:
        tokenizer, calls = _read_tokenizer(folder), TaggedCalls(**facts["calls"])
        if name == "hermes":
            return Hermes(tokenizer, calls=calls)
        format = ChatTemplate(tokenizer, calls=calls, options=facts["options"], stop=facts["stop"])
        if isinstance(format, Stateful) and STATE in facts:
            format.load_state_dict(facts[STATE])
        return format
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"the chat format in {folder} cannot be read: {error}") from error


def _facts(format: ChatFormat) -> dict[str, Any]:
    """What format.json says of a format."""
    names = {kind: name for name, kind in {**PLAIN, **SPOKEN}.items()}
    name, own = names.get(type(format)), f"{type(format).__module__}.{type(format).__qualname__}"
    if name in PLAIN:
        return {"format": name}
    if name is None or not isinstance(format, ChatTemplate | Hermes):
        return {"format": "own", "own": own}
    origin = format.origin
    if type(origin.calls) is not TaggedCalls:
        return {"format": "own", "own": f"{own} with {type(origin.calls).__qualname__}"}
    try:
        options = json.loads(json.dumps(dict(origin.options)))
    except (TypeError, ValueError):
        return {"format": "own", "own": f"{own} with options that are no JSON"}
    calls = {"start": origin.calls.start, "end": origin.calls.end}
    tokenizer = origin.tokenizer
    facts = {"format": name, "calls": calls, "tokens": len(tokenizer), "template": _digest(tokenizer.chat_template)}
    if isinstance(format, Stateful):
        facts[STATE] = format.state_dict()
    return facts if name == "hermes" else {**facts, "options": options, "stop": list(origin.stop)}


def _digest(template: Any) -> str:
    return hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()


def _read_facts(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / "format.json").read_text())
        return {**found, "format": str(found["format"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{folder / 'format.json'} cannot be read: {error!r}") from error


def _read_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """Exactly what was saved: the classes of transformers make some tokenizers anew from their vocabulary."""
    try:
        from transformers import PreTrainedTokenizerFast
    except ImportError as error:
        raise InputError(f'this chat format needs transformers: pip install "handaxe[hf]" ({error})') from error
    tokenizer: PreTrainedTokenizerBase = PreTrainedTokenizerFast.from_pretrained(folder)
    return tokenizer


def _difference(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Where two formats' facts differ; "" nowhere. A state is taken back when the run goes on."""
    names = [name for name in {**then, **now} if name != STATE and then.get(name) != now.get(name)]
    return ", ".join(f"{name} {_short(then.get(name))} and not {_short(now.get(name))}" for name in sorted(names))


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
