"""Schema of the chat completions protocol: parse requests, write responses, stream chunks and errors.

A field that would change the answer and is not supported is refused.
"""

from __future__ import annotations

import json
import math
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from handaxe.core.errors import HandaxeError
from handaxe.core.images import Image, join_images, message_images
from handaxe.core.records import Message, Sampling, ToolCall, ToolSchema
from handaxe.engines.local.sample_requests import MIN_TEMPERATURE
from handaxe.serving.image_parts import ImageBudget, ImagePartError

__all__ = ["ApiError", "ChatRequest", "Choice", "TokenLogp", "completion_body", "completion_chunk", "read_request"]

MAX_CHOICES = 128
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""JSON escape of half a character, paired or not."""
MAX_TOP = 20
MAX_ALTERNATIVES = 8192
"""Most alternatives of a response, of all tokens and choices. Writing JSON stops all Python threads."""
UNLIKELY = -9999.0
"""Log-prob of the protocol for a probability of 0."""
DEFAULT_ONLY = {
    "function_call": ("none", "auto"), "functions": ([],), "logit_bias": ({},), "presence_penalty": (0,),
    "frequency_penalty": (0,), "response_format": ({"type": "text"},), "modalities": (["text"],),
    "prediction": (), "audio": (), "web_search_options": (), "min_p": (0,), "repetition_penalty": (1,),
    "reasoning_effort": (), "echo": (False,), "best_of": (1,), "chat_template_kwargs": ({},),
}  # fmt: skip
"""Unsupported fields with their accepted values, which have no effect."""


class ApiError(HandaxeError):
    """A refused or failed request: HTTP status and error body of the protocol."""

    def __init__(self, status: int, message: str, *, param: str | None = None, code: str | None = None):
        super().__init__(message)
        self.status = status
        self.param, self.code = param, code

    def body(self) -> dict[str, Any]:
        """Body of the error response."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {"error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}}


@dataclass(frozen=True)
class ChatRequest:
    """A parsed request. `stop`: stop strings; `seeds`: one for each choice; `usage`: include usage in the stream;
    `top_logprobs`: alternatives to report with each token."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...]
    sampling: Sampling
    seeds: tuple[int, ...]
    stop: tuple[str, ...] = ()
    stream: bool = False
    usage: bool = False
    logprobs: bool = False
    top_logprobs: int = 0

    @property
    def images(self) -> tuple[Image, ...]:
        """Every distinct image of the conversation."""
        return message_images(self.messages)


class TokenLogp(NamedTuple):
    """Text and log-prob of a sampled token, and of its alternatives, most likely first.

    `decoded` is False for a token without a text of its own: a control token, or a part of a character.
    """

    token: str
    logp: float
    decoded: bool = True
    top: Sequence[TokenLogp] = ()

    def entry(self) -> dict[str, Any]:
        """The entry of the protocol, without alternatives."""
        data = list(self.token.encode()) if self.decoded else None
        return {"token": self.token, "logprob": max(self.logp, UNLIKELY), "bytes": data}


class Choice(NamedTuple):
    """One choice of a response: text, (id, name, arguments as JSON text) of each call, finish reason, number of tokens
    and, if requested, the log-prob of each token."""

    content: str
    calls: Sequence[tuple[str, str, str]]
    finish: str
    tokens: int
    logprobs: Sequence[TokenLogp] | None = None

    def message(self) -> dict[str, Any]:
        """The message of the protocol."""
        calls = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in self.calls]
        message: dict[str, Any] = {"role": "assistant", "content": None if calls and not self.content else self.content}
        return {**message, "tool_calls": calls} if calls else message


def read_request(body: bytes, *, model: str, max_tokens: int, images: bool = False) -> ChatRequest:
    """Parse a request body.

    Args:
        body: raw bytes.
        model: name of the served model.
        max_tokens: token limit of an answer, if the client sets none.
        images: the model shows images.

    Raises:
        ApiError: a field is invalid or unsupported; the error names the field.
    """
    try:
        text = body.decode("utf-8-sig")
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ApiError(400, f"the body is not JSON: {error}") from None
    _check_characters(text, fields)
    if not isinstance(fields, dict):
        raise ApiError(400, "the body is not a JSON object")
    if fields.get("model") not in (None, model):
        message = f"there is no model {str(fields['model'])[:200]!r}; this server has {model!r}"
        raise ApiError(404, message, param="model", code="model_not_found")
    for name, values in DEFAULT_ONLY.items():
        if fields.get(name) is not None and fields[name] not in values:
            raise ApiError(400, f"{name} is not supported; leave it out", param=name, code="unsupported_parameter")
    stream = _flag(fields, "stream")
    logprobs = _flag(fields, "logprobs")
    if stream and logprobs:
        raise ApiError(400, "logprobs are not supported with stream", param="logprobs")
    sampling, seeds = _sampling(fields, max_tokens), _seeds(fields)
    return ChatRequest(
        messages=_messages(fields.get("messages"), ImageBudget(images)),
        tools=_tools(fields),
        sampling=sampling,
        seeds=seeds,
        stop=_stop(fields.get("stop")),
        stream=stream,
        usage=bool(isinstance(fields.get("stream_options"), dict) and fields["stream_options"].get("include_usage")),
        logprobs=logprobs,
        top_logprobs=_top_logprobs(fields, logprobs, len(seeds) * sampling.max_tokens),
    )


def completion_body(request_id: str, model: str, choices: Sequence[Choice], prompt_tokens: int) -> dict[str, Any]:
    """Body of a complete response."""
    written = [
        {"index": k, "message": choice.message(), "finish_reason": choice.finish, "logprobs": _logprobs(choice)}
        for k, choice in enumerate(choices)
    ]
    header = {"id": request_id, "object": "chat.completion", "created": int(time.time()), "model": model}
    return {**header, "choices": written, "usage": _usage(prompt_tokens, sum(choice.tokens for choice in choices))}


def completion_chunk(
    request_id: str,
    model: str,
    *,
    index: int = 0,
    delta: Mapping[str, Any] | None = None,
    finish: str | None = None,
    usage: tuple[int, int] | None = None,
) -> str:
    """One event of a stream; with `usage` (prompt and completion tokens) the last event, without choices."""
    event: dict[str, Any] = {"id": request_id, "object": "chat.completion.chunk", "created": int(time.time())}
    event["model"] = model
    event["choices"] = [] if usage else [{"index": index, "delta": dict(delta or {}), "finish_reason": finish}]
    if usage:
        event["usage"] = _usage(*usage)
    return f"data: {json.dumps(event)}\n\n"


def _usage(prompt_tokens: int, completion_tokens: int) -> dict[str, int]:
    total = prompt_tokens + completion_tokens
    return {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens, "total_tokens": total}


def _logprobs(choice: Choice) -> dict[str, Any] | None:
    if choice.logprobs is None:
        return None
    return {"content": [{**one.entry(), "top_logprobs": [each.entry() for each in one.top]} for one in choice.logprobs]}


# --- parsing fields --------------------------------------------------------------------------------------------------


def _check_characters(text: str, value: Any, *, param: str | None = None) -> None:
    """Raise ApiError if `value`, parsed from the JSON `text`, has an unpaired surrogate."""
    if SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = f"\\u{ord(error.object[error.start]):04x}"
            message = f"the body has half a character, the unpaired surrogate {half}; send whole characters"
            raise ApiError(400, message, param=param) from None


def _messages(value: Any, budget: ImageBudget) -> tuple[Message, ...]:
    if not isinstance(value, list) or not value:
        raise ApiError(400, "messages must be a list of at least one message", param="messages")
    messages = list[Message]()
    call_names = dict[str, str]()
    for k, item in enumerate(value):
        path = f"messages[{k}]"
        role: Any = item.get("role") if isinstance(item, dict) else None
        role = "system" if role == "developer" else role
        if role not in ("system", "user", "assistant", "tool"):
            raise ApiError(400, f"{path} has no role among system, user, assistant and tool", param=path)
        calls = _calls(item, path) if role == "assistant" else ()
        call_names |= {call.id: call.name for call in calls}
        call_id = _text(item, "tool_call_id", path) if role == "tool" else ""
        name = (_text(item, "name", path) or call_names.get(call_id, "")) if role == "tool" else ""
        content, images = join_images(*_parts(item.get("content"), path, budget))
        if images and role not in ("user", "tool"):
            raise ApiError(400, f"{path} has an image; images stand in messages of users and tools", param=path)
        messages.append(Message(role, content, calls, call_id, name, images))
    return tuple(messages)


def _parts(value: Any, path: str, budget: ImageBudget) -> list[str | Image]:
    """Texts and images of a message's content, in order."""
    if value is None or isinstance(value, str):
        return [value or ""]
    found = list[str | Image]()
    for k, part in enumerate(value if isinstance(value, list) else [None]):
        if isinstance(part, dict) and part.get("type") == "image_url":
            try:
                found.append(budget.read(part, sum(isinstance(one, Image) for one in found)))
            except ImagePartError as error:
                raise ApiError(400, f"{path}.content[{k}]: {error}", param=path) from None
            continue
        text = part.get("text") if isinstance(part, dict) else None
        if not isinstance(text, str):
            message = f"{path}.content must be text or a list of parts of type text or image_url"
            raise ApiError(400, message, param=path)
        found.append(text)
    return found


def _calls(message: Mapping[str, Any], path: str) -> tuple[ToolCall, ...]:
    calls = list[ToolCall]()
    items = message.get("tool_calls") or []
    for k, item in enumerate(items if isinstance(items, list) else [items]):
        function = item.get("function") if isinstance(item, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise ApiError(400, f"{path}.tool_calls[{k}] has no function with a name", param=path)
        arguments = function.get("arguments") or {}
        try:
            if isinstance(text := arguments, str):
                arguments = json.loads(text)
                _check_characters(text, arguments, param=path)
        except (ValueError, RecursionError):
            arguments = None
        if not isinstance(arguments, dict):
            raise ApiError(400, f"the arguments of {path}.tool_calls[{k}] are not a JSON object", param=path)
        calls.append(ToolCall(function["name"], arguments, _text(item, "id", path) or f"c{k}"))
    return tuple(calls)


def _tools(fields: Mapping[str, Any]) -> tuple[ToolSchema, ...]:
    choice = fields.get("tool_choice")
    if choice not in (None, "auto", "none"):
        raise ApiError(400, 'tool_choice must be "auto" or "none": a call cannot be forced', param="tool_choice")
    tools = list[ToolSchema]()
    items = fields.get("tools") or []
    for k, item in enumerate(items if isinstance(items, list) else [items]):
        function = item.get("function") if isinstance(item, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise ApiError(400, f"tools[{k}] has no function with a name", param="tools")
        parameters = function.get("parameters") or {"type": "object", "properties": {}}
        if not isinstance(parameters, dict) or not isinstance(parameters.get("properties", {}), dict):
            raise ApiError(400, f"the parameters of tools[{k}] are not a JSON schema of type object", param="tools")
        tools.append(ToolSchema(function["name"], _text(function, "description", f"tools[{k}]"), parameters))
    return () if choice == "none" else tuple(tools)


def _sampling(fields: Mapping[str, Any], max_tokens: int) -> Sampling:
    limit = fields.get("max_completion_tokens")
    limit = fields.get("max_tokens") if limit is None else limit
    temperature = _number(fields, "temperature", 1.0, 0.0, 100.0)
    if 0 < temperature < MIN_TEMPERATURE:
        message = f"temperature is {temperature}; give 0 (greedy), or {MIN_TEMPERATURE} or more"
        raise ApiError(400, message, param="temperature")
    return Sampling(
        temperature=temperature,
        top_p=_number(fields, "top_p", 1.0, 1e-6, 1.0),
        top_k=int(_number(fields, "top_k", 0, 0, 2**31)),
        max_tokens=max_tokens if limit is None else int(_number({"max_tokens": limit}, "max_tokens", 1, 1, 2**31)),
    )


def _seeds(fields: Mapping[str, Any]) -> tuple[int, ...]:
    count = int(_number(fields, "n", 1, 1, MAX_CHOICES))
    seed = fields.get("seed")
    first = secrets.randbelow(2**62) if seed is None else int(_number(fields, "seed", 0, -(2**63), 2**64))
    return tuple((first + k) % 2**63 for k in range(count))


def _top_logprobs(fields: Mapping[str, Any], logprobs: bool, tokens: int) -> int:
    """Alternatives a token, for a response of at most `tokens` tokens."""
    count = int(_number(fields, "top_logprobs", 0, 0, MAX_TOP))
    if count and not logprobs:
        raise ApiError(400, "top_logprobs needs logprobs: true", param="top_logprobs")
    if count * tokens > MAX_ALTERNATIVES:
        message = f"top_logprobs is {count} for up to {tokens} tokens; give at most {MAX_ALTERNATIVES} in all"
        raise ApiError(400, f"{message}, by a lower max_tokens, n or top_logprobs", param="top_logprobs")
    return count


def _stop(value: Any) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value or []
    if not isinstance(texts, list) or len(texts) > 16 or not all(isinstance(t, str) and t for t in texts):
        raise ApiError(400, "stop must be a non-empty text or a list of at most 16 such texts", param="stop")
    return tuple(texts)


def _number(fields: Mapping[str, Any], name: str, default: float, minimum: float, maximum: float) -> float:
    value = fields.get(name)
    if value is None:
        return default
    integer = isinstance(value, int) and not isinstance(value, bool)
    if not integer and (isinstance(default, int) or not isinstance(value, float) or not math.isfinite(value)):
        wanted = "an integer" if isinstance(default, int) else "a number"
        raise ApiError(400, f"{name} is {str(value)[:50]!r}, not {wanted}", param=name)
    if not minimum <= value <= maximum:
        text = str(value)
        shown = text if len(text) <= 50 else f"{text[:20]}... ({len(text.lstrip('-'))} digits)"
        raise ApiError(400, f"{name} is {shown}; give {minimum} to {maximum}", param=name)
    return value


def _flag(fields: Mapping[str, Any], name: str) -> bool:
    if fields.get(name) not in (None, True, False):
        raise ApiError(400, f"{name} must be true or false", param=name)
    return bool(fields.get(name))


def _text(fields: Mapping[str, Any], name: str, path: str) -> str:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise ApiError(400, f"{path}.{name} is not text", param=path)
    return value or ""
