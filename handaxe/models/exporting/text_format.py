"""Export of `models.chat_formats.hermes` and `models.chat_formats.chat_template` as a chat template.

The exported template is a preamble followed by the tokenizer's template. For templates with tools, the preamble
converts a conversation as handaxe does: contents as text, call ids in order, results with the name of their tool. For
templates without tools, the preamble is `hermes.plain_chat` in Jinja, and the tokenizer's template receives no tools.
"""

from __future__ import annotations

import re
from typing import Any

from handaxe.core.errors import InputError
from handaxe.models.chat_formats.chat_template import ChatTemplate
from handaxe.models.chat_formats.hermes import Hermes
from handaxe.models.chat_formats.safe_encoder import THINKING
from handaxe.models.chat_formats.tool_call_parsing import CallSyntax, TaggedCalls
from handaxe.models.exporting.template_marks import image_splitter, jinja_literal, mark_macros

__all__ = ["text_response", "text_template"]

NATIVE_TOOLS = """
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
{%- set signature = {"name": hx_quoted(function.name), "description": hx_quoted(function.description or ""),
  "parameters": parameters} -%}
{%- set hx.tools = hx.tools + [{"type": "function", "function": signature}] -%}
{%- endfor -%}
{%- for message in messages -%}
{%- set words = hx_content(message.content) -%}
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
{%- set turn = {"role": "assistant", "content": hx_assistant(words)} -%}
{%- set hx.chat = hx.chat + [dict(turn, tool_calls=hx.calls) if hx.calls else turn] -%}
{%- elif message.role == "tool" -%}
{%- set id = message.tool_call_id or "" -%}
{%- if id not in hx.ids -%}{%- set hx.ids = dict(hx.ids, **{id: "call%05d" % (hx.ids | length)}) -%}{%- endif -%}
{%- set hx.chat = hx.chat + [{"role": "tool", "content": hx_shown(message.content),
  "name": hx_quoted(message.name or hx.names[id] or ""), "tool_call_id": hx.ids[id]}] -%}
{%- else -%}
{%- set hx.chat = hx.chat + [{"role": message.role, "content": hx_shown(message.content)}] -%}
{%- endif -%}
{%- endfor -%}
{%- set messages = hx.chat -%}
{%- set tools = hx.tools or none %}
"""
DESCRIBED_TOOLS = """
{%- set hx = namespace(chat=[], description="", after_result=false, turn="") -%}
{%- if tools -%}
{%- set hx.description = DESCRIPTION -%}
{%- for tool in tools -%}
{%- set function = tool.function or tool -%}
{%- set schema = {"name": function.name, "description": function.description or "",
  "parameters": function.parameters or {}} -%}
{%- set hx.description = hx.description ~ "\\n" ~ hx_quoted(schema | tojson) -%}
{%- endfor -%}
{%- set hx.description = hx.description ~ "\\n</tools>" -%}
{%- if TOOLS_MESSAGE == "system" and (not messages or messages[0].role != "system") -%}
{%- set hx.chat = [{"role": "system", "content": hx.description}] -%}
{%- set hx.description = "" -%}
{%- endif -%}
{%- endif -%}
{%- for message in messages -%}
{%- set words = hx_content(message.content) -%}
{%- if message.role == "tool" -%}
{%- set reply = "<tool_response>\\n" ~ hx_shown(message.content) ~ "\\n</tool_response>" -%}
{%- if hx.after_result -%}
{%- set hx.chat = hx.chat[:-1] + [{"role": "user", "content": hx.chat[-1].content ~ "\\n" ~ reply}] -%}
{%- else -%}
{%- set hx.chat = hx.chat + [{"role": "user", "content": reply}] -%}
{%- endif -%}
{%- elif message.role == "assistant" -%}
{%- set hx.turn = hx_assistant(words) -%}
{%- for call in message.tool_calls or [] -%}
{%- set function = call.function or call -%}
{%- set arguments = function.arguments or {} -%}
{%- set payload = '{"name": ' ~ (function.name | tojson) ~ ', "arguments": '
  ~ (arguments if arguments is string else arguments | tojson) ~ "}" -%}
{%- set hx.turn = hx.turn ~ ("\\n" if hx.turn else "") ~ START ~ "\\n" ~ hx_quoted(payload) ~ "\\n" ~ END -%}
{%- endfor -%}
{%- set hx.chat = hx.chat + [{"role": "assistant", "content": hx.turn}] -%}
{%- else -%}
{%- set words = hx_shown(message.content) -%}
{%- if hx.description and message.role == TOOLS_MESSAGE -%}
{%- set words = words ~ "\\n\\n" ~ hx.description if TOOLS_MESSAGE == "system" else hx.description ~ "\\n\\n" ~ words
-%} {%- set hx.description = "" -%} {%- endif -%} {%- set hx.chat = hx.chat + [{"role": message.role, "content": words}]
-%} {%- endif -%} {%- set hx.after_result = message.role == "tool" -%} {%- endfor -%} {%- set messages = hx.chat -%} {%-
set tools = none %}
"""


def text_template(format: Hermes | ChatTemplate) -> str:
    """Chat template equal to the format.

    Raises:
        InputError: the format describes tools in a message and has a custom call syntax, or images of tool results
            follow their messages.
    """
    info = format.template_info()
    encoder = info.encoder
    assistant_names = set(encoder.special) - set(THINKING)
    preamble = mark_macros(
        encoder.control,
        assistant_names=assistant_names,
        prefix_space=encoder.plain().prefix_space,
        shows_images=format.image_processor is not None,
    )
    preamble += "".join(_default(name, value) for name, value in format.origin.options.items())
    if info.native_tools:
        preamble += NATIVE_TOOLS.lstrip("\n")
    else:
        preamble += _described_tools(format.origin.calls, info.tools_message)
    if format.image_processor is not None:
        if not info.tool_images:
            raise InputError(
                "the chat template shows no images in tool messages, and an exported template cannot write the sizes "
                "of images there: set tokenizer.chat_template to a template that shows them, or one without tools"
            )
        preamble += image_splitter(lists=info.lists)
    return preamble + info.template


def text_response(format: Hermes | ChatTemplate) -> dict[str, Any] | None:
    """`response_template` with which a server parses calls; None if calls are not JSON between two tags."""
    tags, info = format.origin.calls, format.template_info()
    if not isinstance(tags, TaggedCalls):
        return None
    calls = {
        "open_pattern": rf'\n?{re.escape(tags.start)}\s*\{{"name": "(?P<name>[^"]+)", "arguments": ',
        "close_pattern": rf"\}}\s*{re.escape(tags.end)}",
        "repeats": True,
        "content": "text",
        "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}},
    }
    ends = [name for name, i in info.encoder.control.items() if i in format.stop_ids]
    content = {"close": ends, "content": "text", "content_args": {"strip": False}}
    return {
        "defaults": {"role": "assistant"},
        "start_anchor": info.header,
        "fields": {"tool_calls": calls, "content": content},
    }


def _described_tools(calls: CallSyntax, tools_message: str) -> str:
    if not isinstance(calls, TaggedCalls):
        raise InputError(
            f"{type(calls).__name__} is a custom call syntax, which cannot be exported as a chat template: train with "
            "a tokenizer whose chat template renders tools and calls in this syntax"
        )
    text = f"You may call tools. To call one, write\n{calls.example}\nThe tools are\n<tools>"
    values = {"DESCRIPTION": text, "TOOLS_MESSAGE": tools_message, "START": calls.start, "END": calls.end}
    pattern = r"\b(DESCRIPTION|TOOLS_MESSAGE|START|END)\b"
    return re.sub(pattern, lambda match: jinja_literal(values[match[1]]), DESCRIBED_TOOLS.lstrip("\n"))


def _default(name: str, value: Any) -> str:
    return f"{{%- if {name} is not defined -%}}{{%- set {name} = {jinja_literal(value)} -%}}{{%- endif -%}}"
