"""Labels of nuggets in ten formats, and the reply of a verifier: reasoning, then labels."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from handaxe.core.errors import InputError

__all__ = ["FORMATS", "LABELS", "VerifierReply", "has_format", "label_words", "read_reply", "write_labels"]

LABELS = ("support", "partial_support", "not_support")
"""Labels of a nugget: the answer states it wholly, in part, or not."""
OPEN, CLOSE = "<reasoning>", "</reasoning>"
WORD = re.compile(r"\w+")


class VerifierReply(NamedTuple):
    """Reply of a verifier.

    opened    number of opening tags of the reasoning
    closed    number of closing tags
    reasoning text between the first tags; None without both, in this order
    labels    text after the last closing tag; the whole text without reasoning
    """

    opened: int
    closed: int
    reasoning: str | None
    labels: str


FORMATS: Mapping[str, Callable[[Sequence[str]], str]] = MappingProxyType(
    {
        "json": lambda labels: json.dumps({"labels": list(labels)}, separators=(",", ":")),
        "csv": ",".join,
        "python_list": lambda labels: str(list(labels)),
        "yaml": lambda labels: "\n".join(f"- {one}" for one in labels),
        "markdown": lambda labels: "\n".join(f"* {one}" for one in labels),
        "xml": lambda labels: f"<labels>{''.join(f'<label>{one}</label>' for one in labels)}</labels>",
        "tsv": "\t".join,
        "numbered": lambda labels: "\n".join(f"{number}. {one}" for number, one in enumerate(labels, 1)),
        "comma_separated": ", ".join,
        "pipe_separated": "|".join,
    }
)
"""Name of a format -> writer of labels."""


def write_labels(labels: Sequence[str], format: str) -> str:
    """Write labels in a format.

    Raises:
        InputError: another format.

    Example:
        (["support", "not_support"], "pipe_separated")  ->  "support|not_support"
    """
    if format not in FORMATS:
        raise InputError(f"format is one of {', '.join(FORMATS)}, not {format!r}")
    return FORMATS[format](labels)


def read_reply(text: str) -> VerifierReply:
    """Split a reply into reasoning and labels.

    Example:
        "<reasoning>a b</reasoning>support"  ->  reasoning "a b", labels "support"
    """
    opened, closed = text.count(OPEN), text.count(CLOSE)
    found = re.search(f"{OPEN}(.*?){CLOSE}", text, re.DOTALL)
    rest = text.rpartition(CLOSE)[2] if found else text
    return VerifierReply(opened, closed, found[1].strip() if found else None, rest.strip())


def label_words(text: str, known: Sequence[str] = LABELS) -> list[str]:
    """Return the words of a text that are labels, in order, of any format.

    Example:
        '["support", "maybe", "not_support"]'  ->  ["support", "not_support"]
    """
    return [word for word in WORD.findall(text) if word in known]


def has_format(text: str, labels: Sequence[str], format: str) -> bool:
    """Check whether a text is the labels in a format and nothing else, up to white space around it.

    Example:
        ("support|not_support", ["support", "not_support"], "pipe_separated") -> True; with "xml" -> False
    """
    return text.strip() == write_labels(labels, format)
