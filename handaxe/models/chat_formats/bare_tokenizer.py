"""A copy of a tokenizer that encodes text alone: no added tokens, no BOS, no prefix space, no lossy normalisers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from handaxe.models.exporting.template_marks import is_mark_remover

__all__ = ["SPACE_MARK", "adds_prefix_space", "component_spec", "plain_tokenizer"]

SPACE_MARK = "\u2581"
"""The space in sentencepiece vocabularies."""
LOSSY = {"Prepend", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled", "Strip"}
"""Normalisers that change text."""


def adds_prefix_space(spec: dict[str, Any]) -> Callable[[str], bool]:
    """Make a function that returns True if the tokenizer prefixes a text with a space."""
    if any(part["type"] == "Prepend" for part in _flat(spec["normalizer"])):
        return lambda text: True
    steps = _flat(spec["pre_tokenizer"])
    if any(step.get("prepend_scheme") == "always" or step.get("add_prefix_space") for step in steps):
        return lambda text: text[0] not in " " + SPACE_MARK
    return lambda text: False


def plain_tokenizer(backend: Any, spec: dict[str, Any]) -> Any:
    """The tokenizer without added tokens, BOS, prefix space and lossy normalisers; shares the vocabulary."""
    steps_in_use = [part for part in _flat(spec["normalizer"]) if not is_mark_remover(part)]
    normalizers = [part for part in steps_in_use if part["type"] not in LOSSY]
    steps = [dict(step) for step in _flat(spec["pre_tokenizer"])]
    decoders = [dict(step) for step in _flat(spec["decoder"]) if step["type"] not in LOSSY]
    for step in [*steps, *decoders]:
        if "prepend_scheme" in step:
            step["prepend_scheme"] = "never"
        if "add_prefix_space" in step:
            step["add_prefix_space"] = False
    plain = type(backend)(backend.model)
    shell = type(backend)(type(plain.model)())
    settings = json.loads(shell.to_str()) | {
        "normalizer": {"type": "Sequence", "normalizers": normalizers} if normalizers else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps} if steps else None,
        "decoder": {"type": "Sequence", "decoders": decoders} if decoders else None,
    }
    shell = type(backend).from_str(json.dumps(settings))
    for name in spec:
        if getattr(shell, name) is not None:
            setattr(plain, name, getattr(shell, name))
    return plain


def component_spec(component: Any) -> dict[str, Any] | None:
    """Specification of a tokenizer component."""
    return None if component is None else json.loads(component.__getstate__())


def _flat(component: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The steps of a tokenizer component, with nested sequences flattened."""
    if component is None:
        return []
    if component["type"] != "Sequence":
        return [component]
    inner = next(value for value in component.values() if isinstance(value, list))
    return [step for part in inner for step in _flat(part)]
