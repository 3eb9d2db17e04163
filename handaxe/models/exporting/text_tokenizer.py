"""Export of a tokenizer that gives the ids of `models.chat_formats.safe_encoder` without handaxe."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

from handaxe.models.chat_formats.safe_encoder import SafeEncoder
from handaxe.models.exporting.template_marks import mark_removers

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["text_tokenizer"]


def text_tokenizer(encoder: SafeEncoder) -> PreTrainedTokenizerBase:
    """A tokenizer that alters no text, adds no tokens to a conversation, and removes the marks of `template_marks`."""
    backend, plain = encoder.tokenizer.backend_tokenizer, encoder.plain()
    spec = json.loads(backend.to_str())
    normalizer = plain.steps["normalizer"] or {"type": "Sequence", "normalizers": []}
    removers = mark_removers(prefix_space=plain.prefix_space, before_space=plain.prefix_before_space)
    steps = [*removers, *normalizer.get("normalizers", [normalizer])]
    spec |= plain.steps | {"normalizer": {"type": "Sequence", "normalizers": steps}}
    spec |= {"post_processor": None, "truncation": None, "padding": None}
    # White space is text, even if the vocabulary has added tokens for it.
    spaces = {token["content"] for token in spec["added_tokens"]} & set(backend.get_vocab(False)) - set(encoder.control)
    added = [token for token in spec["added_tokens"] if token["content"] not in spaces]
    spec["added_tokens"] = [{**token, "normalized": False} for token in added]
    return _with_backend(encoder.tokenizer, type(backend).from_str(json.dumps(spec)))


def _with_backend(tokenizer: PreTrainedTokenizerBase, backend: Any) -> PreTrainedTokenizerBase:
    """The tokenizer on another backend, as PreTrainedTokenizerFast, which loads tokenizer.json unchanged."""
    from transformers import PreTrainedTokenizerFast

    copied = ("model_max_length", "padding_side", "truncation_side", "model_input_names")
    settings = {name: getattr(tokenizer, name) for name in copied if hasattr(tokenizer, name)}
    special = {name: copy.copy(token) for name, token in tokenizer.special_tokens_map.items()}
    return PreTrainedTokenizerFast(tokenizer_object=backend, clean_up_tokenization_spaces=False, **settings, **special)
