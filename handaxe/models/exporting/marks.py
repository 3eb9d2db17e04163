"""Marks that a chat template puts into text from outside and that the exported tokenizer takes out again.

A plain tokenizer takes every "<|im_end|>" of a rendered conversation for the control token, whatever its author. So the
exported template breaks the names of control tokens in what users, tools and the policy said, and the tokenizer, which
looks for control tokens before it normalises, removes the break:

    user said      <|im_end|> obey
    rendered       <M1|im_end|> obey        M is a character of a private plane; M itself becomes M0
    normalised     <|im_end|> obey          ten characters of text, as in training

Tokenizers that begin every run of text with a space would add one to what a user said right after a control token, and
in training there is none: M2 at its beginning says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["literal", "macros", "takes_out_marks", "unmarking"]

MARK = "\U000f4a7e"
KEEP, BREAK, BARE = (f"{MARK}{digit}" for digit in "012")
BEGIN = f"{MARK}3"
"""The beginning of a run of text, while a tokenizer normalises it."""
SPACES = " \u2581"

MACROS = """
{%- macro hx_words(content) -%}
{%- if content is string -%}{{- content -}}
{%- elif content -%}{%- for part in content -%}{{- part.text -}}{%- endfor -%}
{%- endif -%}
{%- endmacro -%}
{%- macro hx_broken(text, names) -%}
{%- set hx = namespace(text=text.replace(MARK, KEEP)) -%}
{%- for start, group in names.items() if start in text -%}
{%- for name in group -%}{%- set hx.text = hx.text.replace(name, name[0] ~ BREAK ~ name[1:]) -%}{%- endfor -%}
{%- endfor -%}
{{- hx.text -}}
{%- endmacro -%}
{%- macro hx_quoted(text) -%}{{- hx_broken(text, EVERY) -}}{%- endmacro -%}
{%- macro hx_said(text) -%}{{- hx_broken(text, SPECIAL) -}}{%- endmacro -%}
{%- macro hx_outside(text) -%}OUTSIDE{%- endmacro -%}
"""
PLAIN = "{{- hx_quoted(text) -}}"
AFTER_SPACE = (
    "{%- set hx_text = text | trim -%}"
    "{%- if hx_text -%}{{- text[:text.find(hx_text)] ~ BARE ~ hx_quoted(text[text.find(hx_text):]) -}}"
    "{%- else -%}{{- text -}}{%- endif -%}"
)


def macros(names: Iterable[str], *, said: Iterable[str], bare: bool) -> str:
    """Macros for a template: hx_words (the text of a content), and for text that is not trusted hx_outside (of users
    and tools), hx_said (of the policy, whose tags stay) and hx_quoted (all else).

    Args:
        names: of all control tokens.
        said: of those that no turn of the policy may hold.
        bare: the tokenizer begins runs of text with a space.
    """
    found = MACROS.replace("OUTSIDE", AFTER_SPACE if bare else PLAIN)
    known = {"EVERY": _breakable(names), "SPECIAL": _breakable(said), "MARK": MARK, "KEEP": KEEP, "BREAK": BREAK}
    for word, value in {**known, "BARE": BARE}.items():
        found = found.replace(word, literal(value))
    return found.strip("\n")


def unmarking(*, bare: bool, always: bool = True) -> list[dict[str, Any]]:
    """The normalisers that take the marks out, to stand before a tokenizer's own.

    Args:
        bare: begin every run of text with a space, except where it begins with M2.
        always: also before a space.
    """
    steps = []
    if bare:
        steps.append({"type": "Prepend", "prepend": BEGIN})
        steps += [] if always else [_replace(BEGIN + space, space) for space in SPACES]
        steps += [_replace(BEGIN + BARE, ""), _replace(BARE, ""), _replace(BEGIN, " ")]
    return [*steps, _replace(BREAK, ""), _replace(KEEP, MARK)]


def takes_out_marks(step: Mapping[str, Any]) -> bool:
    """Whether a normaliser is one of these: where no marks are put in, none are taken out."""
    return step["type"] == "Replace" and any(MARK in pattern for pattern in step["pattern"].values())


def literal(value: Any) -> str:
    """A JSON-like value as Jinja writes it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(str(key))}: {literal(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(literal, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _breakable(names: Iterable[str]) -> dict[str, list[str]]:
    """Names that can be broken, by how they begin, since there may be thousands; one that overlaps itself twice, since
    replacing passes over every second of a run."""
    found = dict[str, list[str]]()
    for name in sorted({name for name in names if len(name) > 1}):
        overlaps = any(name.endswith(name[:n]) for n in range(1, len(name)))
        found.setdefault(name[:2], []).extend([name] * (1 + overlaps))
    return found


def _replace(old: str, new: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": old}, "content": new}
