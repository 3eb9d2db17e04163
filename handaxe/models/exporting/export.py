"""Writes a policy as a Hugging Face folder whose chat template gives exactly the ids that it was trained on."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from safetensors.torch import save_file

from handaxe.core.errors import InputError
from handaxe.core.model_api import Model
from handaxe.core.protocols import ChatFormat
from handaxe.core.records import ToolSchema
from handaxe.models.chat_template import ChatTemplate
from handaxe.models.compact import Compact
from handaxe.models.exporting.byte_format import byte_response, byte_template, byte_tokenizer
from handaxe.models.exporting.card import Facts, card
from handaxe.models.exporting.conversations import chat_tools, check_same_ids, hostile_differences
from handaxe.models.exporting.text_format import text_response, text_template
from handaxe.models.exporting.text_tokenizer import text_tokenizer
from handaxe.models.hermes import Hermes
from handaxe.models.huggingface import EXTRA, AdaptedModel, HuggingFaceModel
from handaxe.models.tiny import EXPORTED, TinyModel

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["Exported", "check_free", "export"]

CODE = "modeling_handaxe_tiny"


class Exported(NamedTuple):
    """Where an export is, how many conversations gave the same ids there as in training, and the names of control
    tokens that text of users and tools can still make there."""

    folder: Path
    compared: int
    leaky: tuple[str, ...]


def export(
    model: Model,
    format: ChatFormat,
    out: str | Path,
    *,
    adapter: bool = False,
    tools: Sequence[ToolSchema] = (),
    system: str = "",
    about: Mapping[str, str] | None = None,
) -> Exported:
    """Write a folder for plain transformers and servers built on it.

    In the folder: weights, configuration, tokenizer, a chat template that takes tools, generation_config.json with the
    ids that end a turn, tools.json, a README.md, and for a tiny model the code that runs it. Before the folder gets its
    name, its chat template is compared with the format on conversations with and without tools, id for id.

    Args:
        model: a `TinyModel`, or one of transformers; an adapter is added into its weights.
        format: `Compact`, `Hermes` or `ChatTemplate`, as the policy was trained.
        out: the folder; made here, or empty.
        adapter: write the adapter alone; it needs its base beside it.
        tools: the policy was trained with these.
        system: what the system said at the beginning of every conversation of the training.
        about: of the training, for the README.md, such as {"recipe": "otc"}.

    Raises:
        InputError: the extra is missing, `out` holds something, there is no adapter, the model or the format is of
            another kind, or the chat template cannot be made to give the same ids.

    Example:
        policy = load("runs/first")
        export(policy.model, policy.format, "exported", tools=[calculator.schema])
    """
    try:
        import transformers  # noqa: F401
    except ImportError as error:
        raise InputError(f"{EXTRA} ({error})") from error
    if adapter and not isinstance(model, AdaptedModel):
        raise InputError("the policy has no adapter: all of its weights were trained; export it without --adapter")
    with _folder(Path(out)) as folder:
        base = _write_model(model, folder, adapter)
        response = _write_tokenizer(format, folder, tools)
        _write_generation(model, format, folder)
        found = _read_tokenizer(folder)
        compared = check_same_ids(format, found, tools)
        leaky = hostile_differences(format, found, _control_names(format))
        told = chat_tools(tools)
        (folder / "tools.json").write_text(json.dumps(told, indent=1) + "\n")
        facts = Facts(dict(about or {}), system, told, isinstance(model, TinyModel), base, response, leaky)
        (folder / "README.md").write_text(card(facts), encoding="utf-8")
    return Exported(Path(out), compared, tuple(leaky))


def check_free(out: Path) -> None:
    """Raise InputError when something is in the way of an export."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} is there already and holds something; name another folder")


@contextmanager
def _folder(out: Path) -> Iterator[Path]:
    """A folder to write into, which becomes `out` when all went well."""
    check_free(out)
    fresh = out.with_name(f".{out.name}.{os.getpid()}.partial")
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        yield fresh
        if out.exists():
            out.rmdir()
        fresh.rename(out)
    except OSError as error:
        raise InputError(f"no export can be written to {out}: {error}") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _write_model(model: Model, folder: Path, adapter: bool) -> str:
    """Write the weights; the name of the base that they need beside them, or ""."""
    if isinstance(model, TinyModel):
        _write_tiny(model, folder)
    elif isinstance(model, AdaptedModel) and adapter:
        model.module.save_pretrained(folder)
        (folder / "README.md").unlink(missing_ok=True)
        return str(model.module.peft_config["default"].base_model_name_or_path or "THE BASE MODEL")
    elif isinstance(model, AdaptedModel):
        model.save_merged(folder)
    elif isinstance(model, HuggingFaceModel):
        model.module.save_pretrained(folder)
    else:
        raise InputError(f"a {type(model).__name__} cannot be exported: give a TinyModel or a model of transformers")
    return ""


def _write_tiny(model: TinyModel, folder: Path) -> None:
    sizes = asdict(model.module.config)
    kinds = {"AutoConfig": "HandaxeTinyConfig", "AutoModelForCausalLM": "HandaxeTinyForCausalLM"}
    about = {
        "architectures": ["AutoModelForCausalLM"],  # `transformers serve` looks for a class of its own package
        "auto_map": {auto: f"{CODE}.{kind}" for auto, kind in kinds.items()},
        "dtype": str(next(model.module.parameters()).dtype).removeprefix("torch."),
        "max_position_embeddings": sizes.pop("max_length"),
        "model_type": EXPORTED,
        **sizes,
    }
    (folder / "config.json").write_text(json.dumps(about, indent=1) + "\n")
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in model.module.state_dict().items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    shutil.copy(Path(__file__).with_name(f"{CODE}.py"), folder / f"{CODE}.py")


def _write_tokenizer(format: ChatFormat, folder: Path, tools: Sequence[ToolSchema]) -> bool:
    """Write the tokenizer; whether servers can be told how calls look."""
    if isinstance(format, Compact):
        tokenizer = byte_tokenizer()
        template = byte_template()
        response = byte_response(tools)
    elif isinstance(format, Hermes | ChatTemplate):
        tokenizer = text_tokenizer(format.wording().encoder)
        template = text_template(format)
        response = text_response(format)
    else:
        raise InputError(
            f"no chat template can be made of {type(format).__name__}: export knows Compact, Hermes and ChatTemplate"
        )
    tokenizer.chat_template = template
    if response is not None:
        tokenizer.response_template = response
    tokenizer.save_pretrained(folder)
    return response is not None


def _write_generation(model: Model, format: ChatFormat, folder: Path) -> None:
    """Turns end where they ended in training: at the format's stop ids, and where another speaker's turn begins."""
    from transformers import GenerationConfig

    ends = [*sorted(format.stop_ids), *sorted(format.header_ids)]
    sampled = GenerationConfig(do_sample=True, temperature=1.0, top_k=0, top_p=1.0)
    sampled.eos_token_id, sampled.pad_token_id = ends, model.pad_id
    sampled.save_pretrained(folder)


def _control_names(format: ChatFormat) -> list[str]:
    if isinstance(format, Hermes | ChatTemplate):
        return sorted(format.wording().encoder.control)
    return [format.decode([i]) for i in sorted(format.stop_ids | format.header_ids)]


def _read_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast.from_pretrained(folder)
