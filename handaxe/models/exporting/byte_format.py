"""Export of `models.chat_formats.compact` and `pieces`: a chat template, and a tokenizer of text and control ids."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from handaxe.core.records import ToolSchema
from handaxe.models.chat_formats.compact import CALL, CALL_END, END, NAMES, PAD, Compact
from handaxe.models.chat_formats.pieces import Pieces, byte_characters, piece_tokenizer
from handaxe.models.exporting.template_marks import mark_macros, mark_removers

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["byte_response", "byte_template", "byte_tokenizer"]

TEMPLATE = """
{%- macro hx_argument(name, arguments) -%}
{%- if arguments is string -%}
{{- raise_exception("give the arguments of a call as an object, not as its JSON text: json.loads(arguments)") -}}
{%- endif -%}
{%- set hx = namespace(only=none, text=false) -%}
{%- for tool in tools or [] -%}
{%- set function = tool.function or tool -%}
{%- set properties = (function.parameters or {})["properties"] or {} -%}
{%- if hx.only is none and function.name == name and properties | length == 1 -%}
{%- set hx.only = properties | list | first -%}
{%- set hx.text = properties[hx.only]["type"] == "string" -%}
{%- endif -%}
{%- endfor -%}
{%- if hx.only is not none and arguments | length == 1 and hx.only in arguments -%}
{%- set value = arguments[hx.only] -%}
{{- value if hx.text and value is string else value | tojson(ensure_ascii=true) -}}
{%- else -%}
{{- arguments | tojson(ensure_ascii=true, separators=(",", ":")) -}}
{%- endif -%}
{%- endmacro -%}
{%- if tools -%}
<SYSTEM>
{%- for tool in tools -%}
{%- set function = tool.function or tool -%}
{%- if not loop.first -%}{{- " " -}}{%- endif -%}
{{- hx_quoted(function.name ~ "(" ~ ((function.parameters or {})["properties"] or {}) | join(",") ~ ")") -}}
{%- endfor -%}
<END>
{%- endif -%}
{%- for message in messages -%}
{%- if message.role == "assistant" -%}
<ASSISTANT>{{- hx_quoted(hx_content(message.content)) -}}
{%- for call in message.tool_calls or [] -%}
{%- set function = call.function or call -%}
<CALL>{{- hx_quoted(function.name ~ " " ~ hx_argument(function.name, function.arguments or {})) -}}<CALL_END>
{%- endfor -%}
{%- elif message.role in ["system", "user", "tool"] -%}
<{{- message.role | upper -}}>{{- hx_untrusted(hx_content(message.content)) -}}
{%- else -%}
{{- raise_exception("a message is of system, user, assistant or tool, not of " ~ message.role) -}}
{%- endif -%}
<END>
{%- endfor -%}
{%- if add_generation_prompt -%}<ASSISTANT>{%- endif -%}
"""


def byte_template() -> str:
    """Chat template equal to `Compact`."""
    names = [f"<{name}>" for name in NAMES.values()]
    return mark_macros(names, assistant_names=names, prefix_space=False) + TEMPLATE.rstrip("\n")


def byte_tokenizer(format: Compact) -> PreTrainedTokenizerBase:
    """Tokenizer with one id a byte of UTF-8, or with the pieces of `Pieces`, and the control ids with the names of
    `Compact.decode`. Roles and ends of turns are special tokens; call tags are not, so that decoded turns show calls.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers
    from tokenizers.models import BPE
    from tokenizers.normalizers import Replace
    from tokenizers.normalizers import Sequence as Steps
    from transformers import PreTrainedTokenizerFast

    if isinstance(format, Pieces):
        backend = piece_tokenizer(format.vocabulary)
    else:
        backend = Tokenizer(BPE(vocab={character: byte for byte, character in enumerate(byte_characters())}, merges=[]))
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        backend.decoder = decoders.ByteLevel()
    parts = mark_removers(prefix_space=False)
    backend.normalizer = Steps([Replace(part["pattern"]["String"], part["content"]) for part in parts])
    for control, name in sorted(NAMES.items()):
        backend.add_tokens([AddedToken(f"<{name}>", special=control not in (CALL, CALL_END), normalized=False)])
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        eos_token=f"<{NAMES[END]}>",
        pad_token=f"<{NAMES[PAD]}>",
        clean_up_tokenization_spaces=False,
    )


def byte_response(tools: Sequence[ToolSchema]) -> dict[str, Any] | None:
    """`response_template` with which a server parses calls.

    Returns:
        None, unless all tools take JSON objects, or all tools have a single parameter of one name.
    """
    parameters = {_single_parameter(tool) for tool in tools}
    if len(parameters) != 1:
        return None
    (only,) = parameters
    function = {"name": "{name}", "arguments": "{content}" if only is None else {only: "{content}"}}
    calls = {
        "open_pattern": f"{re.escape('<CALL>')}(?P<name>[^ <]*) ?",
        "close": "<CALL_END>",
        "repeats": True,
        "content": "text",
        "content_args": {"strip": False},
        "transform": {"type": "function", "function": function},
    }
    content = {"close": "<END>", "content": "text", "content_args": {"strip": False}}
    return {
        "defaults": {"role": "assistant"},
        "start_anchor": "<ASSISTANT>",
        "fields": {"tool_calls": calls, "content": content},
    }


def _single_parameter(tool: ToolSchema) -> str | None:
    """The parameter of a tool with a single one, else None."""
    names = list(tool.parameters.get("properties", {}))
    return str(names[0]) if len(names) == 1 else None
