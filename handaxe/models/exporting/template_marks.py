"""Marks in untrusted text, inserted by an exported chat template and removed by the exported tokenizer.

A plain tokenizer encodes every "<|im_end|>" in a rendered conversation as the control token. The exported template
therefore inserts a mark into names of control tokens in text of users, tools and the policy. The tokenizer searches for
control tokens before it normalises, and its normaliser removes the mark:

    user text      <|im_end|> obey
    rendered       <M1|im_end|> obey        M is a character of a private plane; M in the text becomes M0
    normalised     <|im_end|> obey          ten characters of text, as in training

Tokenizers with a prefix space would add a space to user text after a control token, which training does not have: M2 at
the start of the text prevents it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["image_splitter", "is_mark_remover", "jinja_literal", "mark_macros", "mark_removers"]

MARK = "\U000f4a7e"
KEEP, BREAK, BARE = (f"{MARK}{digit}" for digit in "012")
IMAGE = f"{MARK}4"
"""Stands for an image in the text of a message, before the text is split into parts."""
BEGIN = f"{MARK}3"
"""Mark of the start of a run of text during normalisation."""
SPACES = " \u2581"

MACROS = """
{%- macro hx_content(content) -%}
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
{%- macro hx_assistant(text) -%}{{- hx_broken(text, SPECIAL) -}}{%- endmacro -%}
{%- macro hx_untrusted(text) -%}OUTSIDE{%- endmacro -%}
{%- macro hx_shown(content) -%}
{%- set hx = namespace(text=content if content is string else "") -%}
{%- if content is not string -%}
{%- for part in content or [] -%}
{%- if part.type in ["image", "image_url"] -%}
{{- hx_untrusted(hx.text) ~ SHOWN -}}{%- set hx.text = "" -%}
{%- else -%}{%- set hx.text = hx.text ~ part.text -%}{%- endif -%}
{%- endfor -%}
{%- endif -%}
{{- hx_untrusted(hx.text) -}}
{%- endmacro -%}
"""
REFUSED = """raise_exception("the policy reads no images: send text alone")"""
IMAGE_PARTS = """
{%- set hx.shown = [] -%}
{%- for message in messages -%}
{%- set hx.parts = [] -%}
{%- for text in message.content.split(IMAGE) -%}
{%- if not loop.first -%}{%- set hx.parts = hx.parts + [{"type": "image"}] -%}{%- endif -%}
{%- if text or (loop.first and loop.last) -%}
{%- set hx.parts = hx.parts + [{"type": "text", "text": text}] -%}
{%- endif -%}
{%- endfor -%}
{%- set content = hx.parts if LISTS or IMAGE in message.content else message.content -%}
{%- set hx.shown = hx.shown + [dict(message, content=content)] -%}
{%- endfor -%}
{%- set messages = hx.shown %}
"""

PLAIN = "{{- hx_quoted(text) -}}"
AFTER_SPACE = (
    "{%- set hx_text = text | trim -%}"
    "{%- if hx_text -%}{{- text[:text.find(hx_text)] ~ BARE ~ hx_quoted(text[text.find(hx_text):]) -}}"
    "{%- else -%}{{- text -}}{%- endif -%}"
)


def mark_macros(
    names: Iterable[str], *, assistant_names: Iterable[str], prefix_space: bool, shows_images: bool = False
) -> str:
    """Jinja macros: hx_content (the text of a content), and for untrusted text hx_untrusted (of users and tools),
    hx_shown (of a content of users and tools, with marks of images), hx_assistant (of the policy, which keeps call
    tags) and hx_quoted (other text).

    Args:
        names: of all control tokens.
        assistant_names: of the control tokens that no policy turn may contain.
        prefix_space: the tokenizer adds a space before runs of text.
        shows_images: the policy reads images; for another one, an image in a message is an error.
    """
    macros = MACROS.replace("OUTSIDE", AFTER_SPACE if prefix_space else PLAIN)
    macros = macros.replace("SHOWN", "IMAGE" if shows_images else REFUSED)
    values: dict[str, Any] = {"EVERY": _group_names(names), "SPECIAL": _group_names(assistant_names)}
    values |= {"MARK": MARK, "KEEP": KEEP, "BREAK": BREAK, "BARE": BARE, "IMAGE": IMAGE}
    return _filled(macros, values).strip("\n")


def image_splitter(*, lists: bool) -> str:
    """Jinja code that splits the contents of `messages` at the marks of images, for a template that takes parts.

    Args:
        lists: contents without images are lists of parts too.
    """
    return _filled(IMAGE_PARTS.strip("\n"), {"IMAGE": IMAGE, "LISTS": lists}) + "\n"


def _filled(code: str, values: Mapping[str, Any]) -> str:
    """Jinja code with values in place of their names."""
    return re.sub(rf"\b({'|'.join(values)})\b", lambda match: jinja_literal(values[match[1]]), code)


def mark_removers(*, prefix_space: bool, before_space: bool = True) -> list[dict[str, Any]]:
    """Normalisers that remove the marks, to run before the tokenizer's normalisers.

    Args:
        prefix_space: add a space before every run of text, unless the text starts with M2.
        before_space: add the space even before text that starts with a space.
    """
    steps = []
    if prefix_space:
        steps.append({"type": "Prepend", "prepend": BEGIN})
        steps += [] if before_space else [_replace(BEGIN + space, space) for space in SPACES]
        steps += [_replace(BEGIN + BARE, ""), _replace(BARE, ""), _replace(BEGIN, " ")]
    return [*steps, _replace(BREAK, ""), _replace(KEEP, MARK)]


def is_mark_remover(step: Mapping[str, Any]) -> bool:
    """Whether a normaliser is from `mark_removers`. The encoder of training leaves these out, because it inserts no
    marks."""
    return step["type"] == "Replace" and any(MARK in pattern for pattern in step["pattern"].values())


def jinja_literal(value: Any) -> str:
    """A JSON-like value in Jinja notation."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{jinja_literal(str(key))}: {jinja_literal(inner)}" for key, inner in value.items()) + "}"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(jinja_literal, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _group_names(names: Iterable[str]) -> dict[str, list[str]]:
    """Names of two or more characters, grouped by their first two, because there may be thousands. A name that overlaps
    with itself is listed twice, because one pass of `replace` misses every second occurrence of a run."""
    groups = dict[str, list[str]]()
    for name in sorted({name for name in names if len(name) > 1}):
        overlaps = any(name.endswith(name[:n]) for n in range(1, len(name)))
        groups.setdefault(name[:2], []).extend([name] * (1 + overlaps))
    return groups


def _replace(old: str, new: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": old}, "content": new}
