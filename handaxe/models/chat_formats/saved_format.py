"""Chat format of a run, saved in the run's folder, so that use of the policy has the ids of training.

    RUN/format/format.json     name and options of the format
              /pieces.json     the vocabulary, for a format of pieces
              /tokenizer.json ...  the tokenizer with its chat template, for formats with a tokenizer

The files are JSON and tokenizer files. Loading never runs code, so a user-defined format is saved by name only.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handaxe.core.deferred import DeferredModule
from handaxe.core.errors import CheckpointError, InputError
from handaxe.core.model_api import ImageProcessor, Model, VisionModel
from handaxe.core.protocols import ChatFormat, ImageChatFormat, Stateful
from handaxe.models.chat_formats.chat_template import ChatTemplate
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.chat_formats.hermes import Hermes
from handaxe.models.chat_formats.pieces import Pieces
from handaxe.models.chat_formats.template_probe import SYNTAXES
from handaxe.models.chat_formats.tool_call_parsing import CallSyntax, TaggedCalls
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.models.tiny_image_processor import TinyImageProcessor

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    import handaxe.models.image_processors as image_processors
    from handaxe.models.image_processors import ProcessorImages
else:
    image_processors = DeferredModule("handaxe.models.image_processors")

__all__ = ["FORMAT", "check_image_processor", "read_format", "save_format"]

FORMAT = "format"
"""Name of the folder within the run's folder."""
PLAIN: dict[str, type[Compact | Transcript]] = {"compact": Compact, "transcript": Transcript}
PIECES = "pieces"
STATE = "state"
IMAGES = "image_processor"
WITH_TOKENIZER = {"chat_template": ChatTemplate, "hermes": Hermes}
"""Formats with a tokenizer."""


def save_format(run: Path, format: ChatFormat) -> None:
    """Save the format of a run in the run's folder, or check equality with the saved format.

    Raises:
        InputError: the format cannot be written.
        CheckpointError: the run was started with another format.
    """
    folder, facts = run / FORMAT, _facts(format)
    if folder.exists():
        if difference := _difference(_read_facts(folder), json.loads(json.dumps(facts))):
            raise CheckpointError(
                f"the run in {run} was started with another chat format ({difference}): continue with that format, or "
                "start a new run in another folder"
            )
        return
    part = run / f"{FORMAT}.part"
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        if isinstance(format, ChatTemplate | Hermes) and facts["format"] in WITH_TOKENIZER:
            format.origin.tokenizer.save_pretrained(part)
            if format.image_processor is not None:
                format.image_processor.save(part)
        elif isinstance(format, Pieces):
            (part / f"{PIECES}.json").write_text(format.vocabulary)
        (part / "format.json").write_text(json.dumps(facts, indent=1) + "\n")
        os.replace(part, folder)
    except OSError as error:
        raise InputError(f"cannot write the chat format to {folder}: {error}") from error


def read_format(run: Path) -> ChatFormat:
    """Load the format saved by `save_format`.

    Raises:
        InputError: the run has no format, as runs of early versions, or a user-defined format.
        CheckpointError: the files are damaged.
    """
    folder = run / FORMAT
    if not folder.is_dir():
        raise InputError(
            f"{run} has no saved chat format (an early version of handaxe made the run, or the checkpoint was moved "
            "out of the run): pass the format, load(..., format=...)"
        )
    facts = _read_facts(folder)
    name = facts["format"]
    if name == "transcript":
        return Transcript()
    if name == "compact":
        return Compact(_read_image_processor(folder, facts))
    if name == PIECES:
        try:
            return Pieces((folder / f"{PIECES}.json").read_text(), _read_image_processor(folder, facts))
        except OSError as error:
            raise CheckpointError(f"cannot read the chat format in {folder}: {error}") from error
    if name not in WITH_TOKENIZER:
        raise InputError(
            f"the run in {run} was trained with a user-defined chat format, {facts.get('own')}: pass it, load(..., "
            "format=...)"
        )
    try:
        tokenizer, calls = _read_tokenizer(folder), _read_calls(facts["calls"])
        images = _read_processor(folder, tokenizer, facts)
        if name == "hermes":
            return Hermes(tokenizer, calls=calls, image_processor=images)
        format = ChatTemplate(
            tokenizer, calls=calls, options=facts["options"], stop=facts["stop"], image_processor=images
        )
        if isinstance(format, Stateful) and STATE in facts:
            format.load_state_dict(facts[STATE])
        return format
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"cannot read the chat format in {folder}: {error}") from error


def check_image_processor(format: ChatFormat, model: Model) -> None:
    """Check that chat format and model have equal settings of their image processors.

    Raises:
        CheckpointError: the settings differ, or the model reads no images; the message names the field.
    """
    if not isinstance(format, ImageChatFormat) or format.image_processor is None:
        return
    own = model.image_processor.describe() if isinstance(model, VisionModel) else None
    if difference := _difference({IMAGES: format.image_processor.describe()}, {IMAGES: own}):
        raise CheckpointError(
            f"the chat format and the model make other tokens of an image ({difference}): load the model with the chat "
            "format of its run"
        )


def _read_image_processor(folder: Path, facts: Mapping[str, Any]) -> ImageProcessor | None:
    """Make the image processor that a format was saved with."""
    described = facts.get(IMAGES)
    if described is None:
        return None
    try:
        return TinyImageProcessor.restore(described)
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"cannot read {IMAGES} in {folder / 'format.json'}: {error!r}") from error


def _read_processor(
    folder: Path, tokenizer: PreTrainedTokenizerBase, facts: Mapping[str, Any]
) -> ProcessorImages | None:
    """Load the transformers processor that a format was saved with; the tokenizer keeps its chat template."""
    if IMAGES not in facts:
        return None
    template = tokenizer.chat_template
    images = image_processors.load_image_processor(folder, tokenizer, facts[IMAGES]["family"])
    tokenizer.chat_template = template
    return images


def _image_facts(format: ChatFormat) -> dict[str, Any]:
    """Settings of the image processor; nothing without one."""
    if not isinstance(format, ImageChatFormat) or format.image_processor is None:
        return {}
    return {IMAGES: format.image_processor.describe()}


def _facts(format: ChatFormat) -> dict[str, Any]:
    """Content of format.json."""
    return _text_facts(format) | _image_facts(format)


def _text_facts(format: ChatFormat) -> dict[str, Any]:
    names = {format_class: name for name, format_class in {**PLAIN, **WITH_TOKENIZER}.items()}
    name, class_name = names.get(type(format)), f"{type(format).__module__}.{type(format).__qualname__}"
    if name in PLAIN:
        return {"format": name}
    if type(format) is Pieces:
        return {"format": PIECES, PIECES: format.digest()}
    if name is None or not isinstance(format, ChatTemplate | Hermes):
        return {"format": "own", "own": class_name}
    origin = format.origin
    calls = _calls_facts(origin.calls)
    if calls is None:
        return {"format": "own", "own": f"{class_name} with {type(origin.calls).__qualname__}"}
    try:
        options = json.loads(json.dumps(dict(origin.options)))
    except (TypeError, ValueError):
        return {"format": "own", "own": f"{class_name} with options that are no JSON"}
    tokenizer = origin.tokenizer
    facts = {"format": name, "calls": calls, "tokens": len(tokenizer), "template": _digest(tokenizer.chat_template)}
    if isinstance(format, Stateful):
        facts[STATE] = format.state_dict()
    return facts if name == "hermes" else {**facts, "options": options, "stop": list(origin.stop)}


def _calls_facts(calls: CallSyntax) -> dict[str, str] | None:
    """The tags of calls, or the name of a syntax of `template_probe`; None for a user-defined syntax."""
    if type(calls) is TaggedCalls:
        return {"start": calls.start, "end": calls.end}
    return next(({"syntax": name} for name, syntax in SYNTAXES.items() if syntax is calls), None)


def _read_calls(facts: Mapping[str, str]) -> CallSyntax:
    return SYNTAXES[facts["syntax"]] if "syntax" in facts else TaggedCalls(**facts)


def _digest(template: Any) -> str:
    return hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()


def _read_facts(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / "format.json").read_text())
        return {**found, "format": str(found["format"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"cannot read {folder / 'format.json'}: {error!r}") from error


def _read_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """Load the saved tokenizer unchanged; some tokenizer classes of transformers rebuild it from the vocabulary."""
    try:
        from transformers import PreTrainedTokenizerFast
    except ImportError as error:
        raise InputError(f'this chat format needs transformers: pip install "handaxe[hf]" ({error})') from error
    tokenizer: PreTrainedTokenizerBase = PreTrainedTokenizerFast.from_pretrained(folder)
    return tokenizer


def _difference(saved: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Differences between two formats, "" for none; the state is ignored, because resuming restores it."""
    saved, new = _flat(saved), _flat(new)
    names = [name for name in {**saved, **new} if name != STATE and saved.get(name) != new.get(name)]
    return ", ".join(f"{name} {_short(saved.get(name))} and not {_short(new.get(name))}" for name in sorted(names))


def _flat(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Name each setting of the image processor by itself."""
    images = facts.get(IMAGES)
    if not isinstance(images, Mapping):
        return dict(facts)
    rest = {name: value for name, value in facts.items() if name != IMAGES}
    return rest | {f"{IMAGES}.{name}": value for name, value in images.items()}


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
