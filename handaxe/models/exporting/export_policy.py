"""Export of a policy to a Hugging Face folder with a chat template that gives the ids of training."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from handaxe.core.deferred import DeferredModule
from handaxe.core.errors import InputError
from handaxe.core.model_api import Model
from handaxe.core.protocols import ChatFormat
from handaxe.core.records import ToolSchema
from handaxe.models.chat_formats.chat_template import ChatTemplate
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.chat_formats.hermes import Hermes
from handaxe.models.check_model_name import EXTRA
from handaxe.models.exporting.byte_format import byte_response, byte_template, byte_tokenizer
from handaxe.models.exporting.chat_messages import chat_tools, check_image_ids, check_same_ids, untrusted_differences
from handaxe.models.exporting.model_card import CardFacts, model_card
from handaxe.models.exporting.text_format import text_response, text_template
from handaxe.models.exporting.text_tokenizer import text_tokenizer

if TYPE_CHECKING:  # a bad argument is reported before torch is imported
    import safetensors.torch as tensor_files
    from transformers import PreTrainedTokenizerBase

    import handaxe.models.huggingface as huggingface
    import handaxe.models.tiny as tiny
else:
    tensor_files = DeferredModule("safetensors.torch")
    huggingface = DeferredModule("handaxe.models.huggingface")
    tiny = DeferredModule("handaxe.models.tiny")

__all__ = ["ExportResult", "check_output_free", "export_policy"]

CODE = "modeling_handaxe_tiny"


class ExportResult(NamedTuple):
    """Folder of an export, number of conversations with verified ids, and names of control tokens that text of users
    and tools can still produce. `images`: images of a conversation for which the ids are verified; "" for a policy
    without vision."""

    folder: Path
    compared: int
    leaky: tuple[str, ...]
    images: Literal["", "one", "several"] = ""


def export_policy(
    model: Model,
    format: ChatFormat,
    out: str | Path,
    *,
    adapter: bool = False,
    tools: Sequence[ToolSchema] = (),
    system: str = "",
    about: Mapping[str, str] | None = None,
) -> ExportResult:
    """Write a folder for transformers and for servers built on transformers.

    The folder has weights, configuration, tokenizer, a chat template with tools, generation_config.json with the ids
    that end a turn, tools.json, README.md, for a tiny model its code, and for a vision-language model its processor.
    The chat template is compared with the format id for id, on conversations with and without tools and images, before
    the folder gets its final name.

    Args:
        model: a `TinyModel` or a transformers model; an adapter is merged into the weights.
        format: `Compact`, `Pieces`, `Hermes` or `ChatTemplate`, as in training.
        out: the folder; empty or missing.
        adapter: write the adapter only, which needs its base model for loading.
        tools: of the training.
        system: system message of all conversations of the training.
        about: facts of the training for README.md, such as {"method": "otc"}.

    Raises:
        InputError: the extra is missing, `out` is not empty, there is no adapter, the class of model or format is not
            supported, or the chat template does not give the ids of training.

    Example:
        policy = load("runs/first")
        export_policy(policy.model, policy.format, "exported", tools=[calculator.schema])
    """
    try:
        import transformers  # noqa: F401
    except ImportError as error:
        raise InputError(f"{EXTRA} ({error})") from error
    if adapter and not isinstance(model, huggingface.AdaptedModel):
        raise InputError("the policy has no adapter: all of its weights were trained; export it without --adapter")
    with _folder(Path(out)) as folder:
        base = _write_model(model, folder, adapter)
        response = _write_tokenizer(format, folder, tools)
        _write_generation(model, format, folder)
        tokenizer = _read_tokenizer(folder)
        compared = check_same_ids(format, tokenizer, tools)
        shown: Literal["", "one", "several"] = ""
        if (images := getattr(format, "image_processor", None)) is not None:
            more, shown = check_image_ids(format, images.with_tokenizer(tokenizer), tools)
            compared += more
        leaky = untrusted_differences(format, tokenizer, _control_names(format))
        functions = chat_tools(tools)
        (folder / "tools.json").write_text(json.dumps(functions, indent=1) + "\n")
        own_code = isinstance(model, tiny.TinyModel)
        facts = CardFacts(dict(about or {}), system, functions, own_code, base, response, leaky, shown)
        (folder / "README.md").write_text(model_card(facts), encoding="utf-8")
    return ExportResult(Path(out), compared, tuple(leaky), shown)


def check_output_free(out: Path) -> None:
    """Raise InputError if the output folder exists and is not empty."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} exists and is not empty; name another folder")


@contextmanager
def _folder(out: Path) -> Iterator[Path]:
    """A temporary folder that is renamed to `out` on success."""
    check_output_free(out)
    fresh = out.with_name(f".{out.name}.{os.getpid()}.partial")
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        yield fresh
        if out.exists():
            out.rmdir()
        fresh.rename(out)
    except OSError as error:
        raise InputError(f"cannot write an export to {out}: {error}") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _write_model(model: Model, folder: Path, adapter: bool) -> str:
    """Write the weights; returns the name of the base model of an adapter, else ""."""
    if isinstance(model, tiny.TinyModel):
        _write_tiny(model, folder)
    elif isinstance(model, huggingface.AdaptedModel) and adapter:
        model.module.save_pretrained(folder)
        (folder / "README.md").unlink(missing_ok=True)
        return str(model.module.peft_config["default"].base_model_name_or_path or "THE BASE MODEL")
    elif isinstance(model, huggingface.AdaptedModel):
        model.save_merged(folder)
    elif isinstance(model, huggingface.HuggingFaceModel):
        model.module.save_pretrained(folder)
    else:
        raise InputError(f"a {type(model).__name__} cannot be exported: give a TinyModel or a transformers model")
    return ""


def _write_tiny(model: tiny.TinyModel, folder: Path) -> None:
    if model.module.vision is not None:
        raise InputError(
            "a tiny policy with vision cannot be exported to transformers: keep the folder of engine.save, which "
            "handaxe.load reads"
        )
    sizes = model.module.config.values()
    classes = {"AutoConfig": "HandaxeTinyConfig", "AutoModelForCausalLM": "HandaxeTinyForCausalLM"}
    config = {
        "architectures": ["AutoModelForCausalLM"],  # `transformers serve` needs a class of transformers
        "auto_map": {auto: f"{CODE}.{name}" for auto, name in classes.items()},
        "dtype": str(next(model.module.parameters()).dtype).removeprefix("torch."),
        "max_position_embeddings": sizes.pop("max_length"),
        "model_type": tiny.EXPORTED,
        **sizes,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in model.module.state_dict().items()}
    tensor_files.save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    shutil.copy(Path(__file__).with_name(f"{CODE}.py"), folder / f"{CODE}.py")
    if model.pieces:
        (folder / tiny.PIECES).write_text(model.pieces)  # for handaxe, beside the tokenizer for transformers


def _write_tokenizer(format: ChatFormat, folder: Path, tools: Sequence[ToolSchema]) -> bool:
    """Write the tokenizer; True if it has a `response_template` for parsing calls."""
    if isinstance(format, Compact):
        tokenizer = byte_tokenizer(format)
        template = byte_template()
        response = byte_response(tools)
    elif isinstance(format, Hermes | ChatTemplate):
        tokenizer = text_tokenizer(format.template_info().encoder)
        template = text_template(format)
        response = text_response(format)
    else:
        raise InputError(
            f"{type(format).__name__} has no chat template: only Compact, Hermes and ChatTemplate can be exported"
        )
    tokenizer.chat_template = template
    if response is not None:
        tokenizer.response_template = response
    tokenizer.save_pretrained(folder)
    if isinstance(format, Hermes | ChatTemplate) and format.image_processor is not None:
        format.image_processor.with_tokenizer(tokenizer).save(folder)
    return response is not None


def _write_generation(model: Model, format: ChatFormat, folder: Path) -> None:
    """Write generation_config.json: turns end at the format's stop ids and header ids, as in training."""
    from transformers import GenerationConfig

    end_ids = [*sorted(format.stop_ids), *sorted(format.header_ids)]
    config = GenerationConfig(do_sample=True, temperature=1.0, top_k=0, top_p=1.0)
    config.eos_token_id, config.pad_token_id = end_ids, model.pad_id
    config.save_pretrained(folder)


def _control_names(format: ChatFormat) -> list[str]:
    if isinstance(format, Hermes | ChatTemplate):
        return sorted(format.template_info().encoder.control)
    return [format.decode([i]) for i in sorted(format.stop_ids | format.header_ids)]


def _read_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast.from_pretrained(folder)
