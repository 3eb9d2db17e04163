"""A tokenizer that gives, as it stands, the ids that `models.untrusted` gave in training."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

from handaxe.models.exporting.marks import unmarking
from handaxe.models.untrusted import SafeEncoder

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["text_tokenizer"]


def text_tokenizer(encoder: SafeEncoder) -> PreTrainedTokenizerBase:
    """A tokenizer that changes no text, adds nothing to a conversation, and takes out the marks."""
    own, plain = encoder.tokenizer.backend_tokenizer, encoder.plain()
    spec = json.loads(own.to_str())
    found = plain.steps["normalizer"] or {"type": "Sequence", "normalizers": []}
    steps = [*unmarking(bare=plain.spaced, always=plain.always), *found.get("normalizers", [found])]
    spec |= plain.steps | {"normalizer": {"type": "Sequence", "normalizers": steps}}
    spec |= {"post_processor": None, "truncation": None, "padding": None}
    # White space is text here, even where a vocabulary has added tokens for it.
    spaces = {token["content"] for token in spec["added_tokens"]} & set(own.get_vocab(False)) - set(encoder.control)
    added = [token for token in spec["added_tokens"] if token["content"] not in spaces]
    spec["added_tokens"] = [{**token, "normalized": False} for token in added]
    return _rebuilt(encoder.tokenizer, type(own).from_str(json.dumps(spec)))


def _rebuilt(tokenizer: PreTrainedTokenizerBase, backend: Any) -> PreTrainedTokenizerBase:
    """The tokenizer on another backend, of the class that loads what is in tokenizer.json and nothing else."""
    from transformers import PreTrainedTokenizerFast

    kept = ("model_max_length", "padding_side", "truncation_side", "model_input_names")
    settings = {name: getattr(tokenizer, name) for name in kept if hasattr(tokenizer, name)}
    special = {name: copy.copy(token) for name, token in tokenizer.special_tokens_map.items()}
    return PreTrainedTokenizerFast(tokenizer_object=backend, clean_up_tokenization_spaces=False, **settings, **special)
