"""The words of the chat completions protocol, as a server hears and says them: requests, replies, errors.

What a request may hold is what is obeyed: a field that would change the answer and is not known here is refused.
"""

from __future__ import annotations

import json
import math
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from handaxe.core.errors import HandaxeError
from handaxe.core.records import Message, Sampling, ToolCall, ToolSchema

__all__ = ["ApiError", "Reply", "Request", "chunk", "read_request", "whole"]

MOST_CHOICES = 128
HARMLESS = {
    "function_call": ("none", "auto"), "functions": ([],), "logit_bias": ({},), "presence_penalty": (0,),
    "frequency_penalty": (0,), "top_logprobs": (0,), "response_format": ({"type": "text"},), "modalities": (["text"],),
    "prediction": (), "audio": (), "web_search_options": (), "min_p": (0,), "repetition_penalty": (1,),
    "reasoning_effort": (), "echo": (False,), "best_of": (1,), "chat_template_kwargs": ({},),
}  # fmt: skip
"""Fields that are not obeyed, and the values that ask for nothing."""


class ApiError(HandaxeError):
    """A request that is refused, or that failed: HTTP status, and what the protocol says of it."""

    def __init__(self, status: int, message: str, *, param: str | None = None, code: str | None = None):
        super().__init__(message)
        self.status = status
        self.param, self.code = param, code

    def body(self) -> dict[str, Any]:
        """What the client is sent."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {"error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}}


@dataclass(frozen=True)
class Request:
    """What a client asks for. `stop` are texts before which the answer ends; `seeds` one for each choice."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...]
    sampling: Sampling
    seeds: tuple[int, ...]
    stop: tuple[str, ...] = ()
    stream: bool = False
    usage: bool = False
    logprobs: bool = False


class Reply(NamedTuple):
    """One choice: text, (id, name, arguments as JSON text) of each call, how it ended, tokens it took and, where they
    were asked for, (token, log-prob) of each."""

    content: str
    calls: Sequence[tuple[str, str, str]]
    finish: str
    tokens: int
    logprobs: Sequence[tuple[str, float]] | None = None

    def message(self) -> dict[str, Any]:
        """As the protocol has it."""
        made = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in self.calls]
        said: dict[str, Any] = {"role": "assistant", "content": None if made and not self.content else self.content}
        return {**said, "tool_calls": made} if made else said


def read_request(body: bytes, *, model: str, max_tokens: int) -> Request:
    """What a body asks for.

    Args:
        body: as it came.
        model: what is served.
        max_tokens: of an answer, where the client sets no limit.

    Raises:
        ApiError: saying which field is wrong.
    """
    try:
        text = json.dumps(json.loads(body), ensure_ascii=False)
        asked = json.loads(text.encode("utf-8", "replace"))  # half a surrogate pair is no text
    except (ValueError, RecursionError) as error:
        raise ApiError(400, f"the body is not JSON: {error}") from None
    if not isinstance(asked, dict):
        raise ApiError(400, "the body is not a JSON object")
    if asked.get("model") not in (None, model):
        told = f"there is no model {str(asked['model'])[:200]!r} here; this is {model!r}"
        raise ApiError(404, told, param="model", code="model_not_found")
    for name, values in HARMLESS.items():
        if asked.get(name) is not None and asked[name] not in values:
            raise ApiError(400, f"{name} is not obeyed here; leave it out", param=name, code="unsupported_parameter")
    streams = _flag(asked, "stream")
    logprobs = _flag(asked, "logprobs")
    if streams and logprobs:
        raise ApiError(400, "logprobs come with whole answers only, not with stream", param="logprobs")
    return Request(
        messages=_messages(asked.get("messages")),
        tools=_tools(asked),
        sampling=_sampling(asked, max_tokens),
        seeds=_seeds(asked),
        stop=_stop(asked.get("stop")),
        stream=streams,
        usage=bool(isinstance(asked.get("stream_options"), dict) and asked["stream_options"].get("include_usage")),
        logprobs=logprobs,
    )


def whole(request_id: str, model: str, replies: Sequence[Reply], read: int) -> dict[str, Any]:
    """The answer at once; `read` are the tokens of the prompt."""
    choices = [
        {"index": k, "message": reply.message(), "finish_reason": reply.finish, "logprobs": _logprobs(reply)}
        for k, reply in enumerate(replies)
    ]
    about = {"id": request_id, "object": "chat.completion", "created": int(time.time()), "model": model}
    return {**about, "choices": choices, "usage": _usage(read, sum(reply.tokens for reply in replies))}


def chunk(
    request_id: str,
    model: str,
    *,
    index: int = 0,
    delta: Mapping[str, Any] | None = None,
    finish: str | None = None,
    usage: tuple[int, int] | None = None,
) -> str:
    """One event of a stream; with `usage` (tokens read and written) the one that ends it and holds nothing else."""
    about: dict[str, Any] = {"id": request_id, "object": "chat.completion.chunk", "created": int(time.time())}
    about["model"] = model
    about["choices"] = [] if usage else [{"index": index, "delta": dict(delta or {}), "finish_reason": finish}]
    if usage:
        about["usage"] = _usage(*usage)
    return f"data: {json.dumps(about)}\n\n"


def _usage(read: int, written: int) -> dict[str, int]:
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _logprobs(reply: Reply) -> dict[str, Any] | None:
    if reply.logprobs is None:
        return None
    return {"content": [{"token": t, "logprob": p, "bytes": None, "top_logprobs": []} for t, p in reply.logprobs]}


# --- reading fields --------------------------------------------------------------------------------------------------


def _messages(given: Any) -> tuple[Message, ...]:
    if not isinstance(given, list) or not given:
        raise ApiError(400, "messages is a list of one message or more", param="messages")
    messages = list[Message]()
    names = dict[str, str]()
    for k, one in enumerate(given):
        where = f"messages[{k}]"
        role: Any = one.get("role") if isinstance(one, dict) else None
        role = "system" if role == "developer" else role
        if role not in ("system", "user", "assistant", "tool"):
            raise ApiError(400, f"{where} has no role among system, user, assistant and tool", param=where)
        calls = _calls(one, where) if role == "assistant" else ()
        names |= {call.id: call.name for call in calls}
        call_id = _text(one, "tool_call_id", where) if role == "tool" else ""
        name = (_text(one, "name", where) or names.get(call_id, "")) if role == "tool" else ""
        messages.append(Message(role, _content(one.get("content"), where), calls, call_id, name))
    return tuple(messages)


def _content(given: Any, where: str) -> str:
    if given is None:
        return ""
    if isinstance(given, str):
        return given
    parts = given if isinstance(given, list) else [None]
    texts = [part.get("text") if isinstance(part, dict) else None for part in parts]
    if not all(isinstance(text, str) for text in texts):
        raise ApiError(400, f"{where}.content is text, or a list of parts of type text", param=where)
    return "".join(str(text) for text in texts)


def _calls(message: Mapping[str, Any], where: str) -> tuple[ToolCall, ...]:
    calls = list[ToolCall]()
    given = message.get("tool_calls") or []
    for k, one in enumerate(given if isinstance(given, list) else [given]):
        function = one.get("function") if isinstance(one, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise ApiError(400, f"{where}.tool_calls[{k}] has no function with a name", param=where)
        arguments = function.get("arguments") or {}
        try:
            arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
        except (ValueError, RecursionError):
            arguments = None
        if not isinstance(arguments, dict):
            raise ApiError(400, f"the arguments of {where}.tool_calls[{k}] are not a JSON object", param=where)
        calls.append(ToolCall(function["name"], arguments, _text(one, "id", where) or f"c{k}"))
    return tuple(calls)


def _tools(asked: Mapping[str, Any]) -> tuple[ToolSchema, ...]:
    choice = asked.get("tool_choice")
    if choice not in (None, "auto", "none"):
        raise ApiError(400, 'tool_choice is "auto" or "none" here: nothing forces a call', param="tool_choice")
    tools = list[ToolSchema]()
    given = asked.get("tools") or []
    for k, one in enumerate(given if isinstance(given, list) else [given]):
        function = one.get("function") if isinstance(one, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise ApiError(400, f"tools[{k}] has no function with a name", param="tools")
        parameters = function.get("parameters") or {"type": "object", "properties": {}}
        if not isinstance(parameters, dict) or not isinstance(parameters.get("properties", {}), dict):
            raise ApiError(400, f"the parameters of tools[{k}] are not a JSON schema of type object", param="tools")
        tools.append(ToolSchema(function["name"], _text(function, "description", f"tools[{k}]"), parameters))
    return () if choice == "none" else tuple(tools)


def _sampling(asked: Mapping[str, Any], max_tokens: int) -> Sampling:
    limit = asked.get("max_completion_tokens")
    limit = asked.get("max_tokens") if limit is None else limit
    return Sampling(
        temperature=_number(asked, "temperature", 1.0, 0.0, 100.0),
        top_p=_number(asked, "top_p", 1.0, 1e-6, 1.0),
        top_k=int(_number(asked, "top_k", 0, 0, 2**31)),
        max_tokens=max_tokens if limit is None else int(_number({"max_tokens": limit}, "max_tokens", 1, 1, 2**31)),
    )


def _seeds(asked: Mapping[str, Any]) -> tuple[int, ...]:
    count = int(_number(asked, "n", 1, 1, MOST_CHOICES))
    seed = asked.get("seed")
    first = secrets.randbelow(2**62) if seed is None else int(_number(asked, "seed", 0, -(2**63), 2**64))
    return tuple((first + k) % 2**63 for k in range(count))


def _stop(given: Any) -> tuple[str, ...]:
    texts = [given] if isinstance(given, str) else given or []
    if not isinstance(texts, list) or len(texts) > 16 or not all(isinstance(t, str) and t for t in texts):
        raise ApiError(400, "stop is a text, or a list of at most 16 texts that are not empty", param="stop")
    return tuple(texts)


def _number(asked: Mapping[str, Any], name: str, default: float, least: float, most: float) -> float:
    value = asked.get(name)
    if value is None:
        return default
    whole_number = isinstance(default, int) and not isinstance(value, int)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or whole_number:
        raise ApiError(
            400, f"{name} is {str(value)[:50]!r}, not a {'whole ' if whole_number else ''}number", param=name
        )
    if not least <= value <= most:
        raise ApiError(400, f"{name} is {value}; give {least} to {most}", param=name)
    return value


def _flag(asked: Mapping[str, Any], name: str) -> bool:
    if asked.get(name) not in (None, True, False):
        raise ApiError(400, f"{name} is true or false", param=name)
    return bool(asked.get(name))


def _text(one: Mapping[str, Any], name: str, where: str) -> str:
    value = one.get(name)
    if value is not None and not isinstance(value, str):
        raise ApiError(400, f"{where}.{name} is not text", param=where)
    return value or ""
