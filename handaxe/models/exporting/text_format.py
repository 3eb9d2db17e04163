"""`models.hermes` and `models.chat_template` for plain transformers: a chat template that renders what they render.

A tokenizer's own template that takes tools is kept, behind a beginning that makes of a conversation what handaxe hands
to it: contents as text, calls named in order, replies with their tool's name. Where the tools are told in a message,
that beginning does so, in Jinja what `hermes.plain_chat` is in Python. The own template then never sees them.
"""

from __future__ import annotations

import re
from typing import Any

from handaxe.core.errors import InputError
from handaxe.models.calls import CallSyntax, TaggedCalls
from handaxe.models.chat_template import ChatTemplate
from handaxe.models.exporting.marks import literal, macros
from handaxe.models.hermes import Hermes
from handaxe.models.untrusted import THINKING

__all__ = ["text_response", "text_template"]

OPEN_NATIVE = """
{%- set hx = namespace(chat=[], tools=[], ids={}, names={}, calls=[], properties={}, arguments={}) -%}
{%- for tool in tools or [] -%}
{%- set function = tool.function or tool -%}
{%- set parameters = function.parameters or {} -%}
{%- if parameters["properties"] -%}
{%- set hx.properties = {} -%}
{%- for key, schema in parameters["properties"].items() -%}
{%- if schema is mapping and schema.description is string -%}
{%- set schema = dict(schema, description=hx_quoted(schema.description)) -%}
{%- endif -%}
{%- set hx.properties = dict(hx.properties, **{key: schema}) -%}
{%- endfor -%}
{%- set parameters = dict(parameters, **{"properties": hx.properties}) -%}
{%- endif -%}
{%- set told = {"name": hx_quoted(function.name), "description": hx_quoted(function.description or ""),
  "parameters": parameters} -%}
{%- set hx.tools = hx.tools + [{"type": "function", "function": told}] -%}
{%- endfor -%}
{%- for message in messages -%}
{%- set words = hx_words(message.content) -%}
{%- if message.role == "assistant" -%}
{%- set hx.calls = [] -%}
{%- for call in message.tool_calls or [] -%}
{%- set function = call.function or call -%}
{%- set id = call.id or "" -%}
{%- if id not in hx.ids -%}{%- set hx.ids = dict(hx.ids, **{id: "call%05d" % (hx.ids | length)}) -%}{%- endif -%}
{%- set hx.names = dict(hx.names, **{id: function.name}) -%}
{%- set hx.arguments = function.arguments or {} -%}
{%- if hx.arguments is mapping -%}
{%- for key, value in hx.arguments.items() -%}
{%- if value is string -%}{%- set hx.arguments = dict(hx.arguments, **{key: hx_quoted(value)}) -%}{%- endif -%}
{%- endfor -%}
{%- endif -%}
{%- set made = {"name": hx_quoted(function.name), "arguments": hx.arguments} -%}
{%- set hx.calls = hx.calls + [{"type": "function", "id": hx.ids[id], "function": made}] -%}
{%- endfor -%}
{%- set said = {"role": "assistant", "content": hx_said(words)} -%}
{%- set hx.chat = hx.chat + [dict(said, tool_calls=hx.calls) if hx.calls else said] -%}
{%- elif message.role == "tool" -%}
{%- set id = message.tool_call_id or "" -%}
{%- if id not in hx.ids -%}{%- set hx.ids = dict(hx.ids, **{id: "call%05d" % (hx.ids | length)}) -%}{%- endif -%}
{%- set hx.chat = hx.chat + [{"role": "tool", "content": hx_outside(words),
  "name": hx_quoted(message.name or hx.names[id] or ""), "tool_call_id": hx.ids[id]}] -%}
{%- else -%}
{%- set hx.chat = hx.chat + [{"role": message.role, "content": hx_outside(words)}] -%}
{%- endif -%}
{%- endfor -%}
{%- set messages = hx.chat -%}
{%- set tools = hx.tools or none %}
"""
OPEN_TOLD = """
{%- set hx = namespace(chat=[], told="", replying=false, said="") -%}
{%- if tools -%}
{%- set hx.told = TOLD -%}
{%- for tool in tools -%}
{%- set function = tool.function or tool -%}
{%- set schema = {"name": function.name, "description": function.description or "",
  "parameters": function.parameters or {}} -%}
{%- set hx.told = hx.told ~ "\\n" ~ hx_quoted(schema | tojson) -%}
{%- endfor -%}
{%- set hx.told = hx.told ~ "\\n</tools>" -%}
{%- if TELL == "system" and (not messages or messages[0].role != "system") -%}
{%- set hx.chat = [{"role": "system", "content": hx.told}] -%}
{%- set hx.told = "" -%}
{%- endif -%}
{%- endif -%}
{%- for message in messages -%}
{%- set words = hx_words(message.content) -%}
{%- if message.role == "tool" -%}
{%- set reply = "<tool_response>\\n" ~ hx_outside(words) ~ "\\n</tool_response>" -%}
{%- if hx.replying -%}
{%- set hx.chat = hx.chat[:-1] + [{"role": "user", "content": hx.chat[-1].content ~ "\\n" ~ reply}] -%}
{%- else -%}
{%- set hx.chat = hx.chat + [{"role": "user", "content": reply}] -%}
{%- endif -%}
{%- elif message.role == "assistant" -%}
{%- set hx.said = hx_said(words) -%}
{%- for call in message.tool_calls or [] -%}
{%- set function = call.function or call -%}
{%- set arguments = function.arguments or {} -%}
{%- set payload = '{"name": ' ~ (function.name | tojson) ~ ', "arguments": '
  ~ (arguments if arguments is string else arguments | tojson) ~ "}" -%}
{%- set hx.said = hx.said ~ ("\\n" if hx.said else "") ~ START ~ "\\n" ~ hx_quoted(payload) ~ "\\n" ~ END -%}
{%- endfor -%}
{%- set hx.chat = hx.chat + [{"role": "assistant", "content": hx.said}] -%}
{%- else -%}
{%- set words = hx_outside(words) -%}
{%- if hx.told and message.role == TELL -%}
{%- set words = words ~ "\\n\\n" ~ hx.told if TELL == "system" else hx.told ~ "\\n\\n" ~ words -%}
{%- set hx.told = "" -%}
{%- endif -%}
{%- set hx.chat = hx.chat + [{"role": message.role, "content": words}] -%}
{%- endif -%}
{%- set hx.replying = message.role == "tool" -%}
{%- endfor -%}
{%- set messages = hx.chat -%}
{%- set tools = none %}
"""


def text_template(format: Hermes | ChatTemplate) -> str:
    """The chat template that renders what the format does.

    Raises:
        InputError: the format writes calls in a way of its own and tells the tools in a message.
    """
    words = format.wording()
    encoder = words.encoder
    begin = macros(encoder.control, said=set(encoder.special) - set(THINKING), bare=encoder.plain().spaced)
    begin += "".join(_default(name, value) for name, value in format.origin.options.items())
    begin += OPEN_NATIVE.lstrip("\n") if words.native_tools else _told(format.origin.calls, words.tell)
    return begin + words.template


def text_response(format: Hermes | ChatTemplate) -> dict[str, Any] | None:
    """How a server that takes a `response_template` reads calls; None when calls are not JSON between two tags."""
    tags, words = format.origin.calls, format.wording()
    if not isinstance(tags, TaggedCalls):
        return None
    calls = {
        "open_pattern": rf'\n?{re.escape(tags.start)}\s*\{{"name": "(?P<name>[^"]+)", "arguments": ',
        "close_pattern": rf"\}}\s*{re.escape(tags.end)}",
        "repeats": True,
        "content": "text",
        "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}},
    }
    ends = [name for name, i in words.encoder.control.items() if i in format.stop_ids]
    content = {"close": ends, "content": "text", "content_args": {"strip": False}}
    return {
        "defaults": {"role": "assistant"},
        "start_anchor": words.header,
        "fields": {"tool_calls": calls, "content": content},
    }


def _told(calls: CallSyntax, tell: str) -> str:
    if not isinstance(calls, TaggedCalls):
        raise InputError(
            f"{type(calls).__name__} writes calls in a way of its own, which no chat template can be made of: give the "
            "tokenizer a chat template that renders tools and calls that way, and train with that"
        )
    words = f"You may call tools. To call one, write\n{calls.example}\nThe tools are\n<tools>"
    known = {"TOLD": words, "TELL": tell, "START": calls.start, "END": calls.end}
    return re.sub(r"\b(TOLD|TELL|START|END)\b", lambda match: literal(known[match[1]]), OPEN_TOLD.lstrip("\n"))


def _default(name: str, value: Any) -> str:
    return f"{{%- if {name} is not defined -%}}{{%- set {name} = {literal(value)} -%}}{{%- endif -%}}"
