"""HTTP client of a chat completions server: retries, deadlines, bounded answers, hidden secrets."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from typing import Any, NamedTuple

from handaxe.core.errors import InfrastructureError
from handaxe.core.records import Finish
from handaxe.ops.nested_values import MAX_NESTING, exceeds_depth
from handaxe.tools.web.http_loop import HttpFailure, HttpLoop, check_address
from handaxe.tools.web.secret_headers import Secrets, check_headers

__all__ = ["ChatHttp", "ChatReply", "RefusedError", "token_usage"]

RETRY_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""HTTP statuses after which a request is sent again."""
MAX_BODY = 32 * 2**20
"""Most bytes of an answer."""
MAX_PAUSE = 60.0
"""Longest pause in seconds between two attempts, even if the server's Retry-After is longer."""
TOO_LONG = ("context_length", "context length", "context size", "maximum context", "too long", "too many tokens")
"""Parts of error messages of servers for a conversation above the context length."""
REFUSED_QUESTION = (400, 413, 422)
"""HTTP statuses that concern one question; others concern the key, the address or the model."""
MAX_USAGE = 10**12
"""Larger token counts in a server's usage are ignored."""


class RefusedError(Exception):
    """The server refuses the request; `status` is the HTTP status."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status

    @property
    def one_question(self) -> bool:
        """True if other requests may be answered."""
        return self.status in REFUSED_QUESTION

    @property
    def above_context(self) -> bool:
        """True for a conversation above the server's context length."""
        return self.one_question and any(text in str(self).lower() for text in TOO_LONG)


class ChatHttp:
    """Client of a chat server; thread-safe.

    Args:
        url: address of the requests.
        key: sent as a bearer token.
        headers: additional HTTP headers. `Secrets` removes key and headers from every message.
        timeout: seconds that one attempt may take in total, from connecting to the last byte of the answer.
        attempts: most attempts of a request, >= 1.
        backoff: seconds before the second attempt, doubled for each further one; a longer Retry-After takes precedence.

    Raises:
        InputError: an invalid address, key or header.
    """

    def __init__(
        self, url: str, *, key: str, headers: Mapping[str, str], timeout: float, attempts: int, backoff: float
    ):
        self._url, self._timeout = url, timeout
        self._attempts, self._backoff = attempts, backoff
        sent = check_headers({**headers, **({"Authorization": f"Bearer {key}"} if key else {})})
        self.hide = Secrets([sent]).hide
        check_address(url)
        # A redirect would send the conversation, and possibly the key, to an address that the user did not give.
        self._loop = HttpLoop(headers=sent, trust_env=True)
        self._closed = threading.Event()

    def post(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and return the answer.

        Raises:
            RefusedError: the server refuses the request; another attempt would fail as well.
            InfrastructureError: all attempts failed; the message has the reason of the last failure.
        """
        failure = _RetryError("")
        for attempt in range(self._attempts):
            if attempt and self._closed.wait(self._pause(attempt, failure)):
                break
            try:
                return self._post_once(body)
            except _RetryError as error:
                failure = error
            except CancelledError:  # by `close`, from another thread
                break
        if self._closed.is_set():
            raise InfrastructureError(f"the engine for {self._url} was closed")
        raise InfrastructureError(
            self.hide(f"{self._url} gave no answer in {self._attempts} attempts; the last one: {failure}")
        )

    def close(self) -> None:
        """Close the connections and cancel pauses between attempts."""
        self._closed.set()
        self._loop.close()

    def _post_once(self, body: Mapping[str, Any]) -> dict[str, Any]:
        request = self._loop.fetch("POST", self._url, json=dict(body), timeout=self._timeout, limit=MAX_BODY)
        try:
            status, headers, text = self._loop.wait(request)
        except HttpFailure as error:
            raise _RetryError(str(error)) from None
        excerpt = self.hide(text[:4000].decode(errors="replace"), cut=len(text) > 4000)[:2000]
        if status in RETRY_STATUSES:
            raise _RetryError(f"HTTP {status}: {excerpt[:500]}", after=_seconds(headers.get("retry-after", "")))
        if 300 <= status < 400:
            target = self.hide(headers.get("location", ""))[:300]
            raise RefusedError(status, f"it redirects to {target!r}; give that address if you trust it")
        if status != 200:
            raise RefusedError(status, excerpt)
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            raise _RetryError(f"the answer is not JSON: {excerpt[:200]!r}") from None
        if not isinstance(answer, dict) or exceeds_depth(answer, MAX_NESTING):
            raise _RetryError(f"the answer is no JSON object of at most {MAX_NESTING} levels: {excerpt[:200]!r}")
        return answer

    def _pause(self, attempt: int, failure: _RetryError) -> float:
        backoff = self._backoff * 2 ** (attempt - 1) * random.uniform(0.5, 1.0)  # spreads the retries of many clients
        return min(MAX_PAUSE, max(backoff, failure.after))


class _RetryError(Exception):
    """A failed attempt, to repeat after `after` seconds."""

    def __init__(self, message: str, *, after: float = 0.0):
        super().__init__(message)
        self.after = after


def _seconds(text: str) -> float:
    """Value of a Retry-After header in seconds; 0 for a date or an invalid value."""
    try:
        return max(0.0, float(text))
    except ValueError:
        return 0.0


class ChatReply(NamedTuple):
    """A server's reply: text, (name, arguments as received) of each call, and the finish reason."""

    content: str
    calls: list[tuple[str, str]]
    finish: Finish

    @classmethod
    def parse(cls, answer: dict[str, Any], *, hide: Callable[[str], str] = str) -> ChatReply:
        """Parse an answer. Raises InfrastructureError, with the answer filtered by `hide`, if it is no chat
        completion."""
        try:
            choice = answer["choices"][0]
            message = choice["message"]
            content = message.get("content") or ""
            calls = [_call(call["function"]) for call in message.get("tool_calls") or ()]
            finish = choice.get("finish_reason")
        except (AttributeError, IndexError, KeyError, TypeError):
            raise InfrastructureError(
                f"the server's answer is no chat completion: {hide(str(answer))[:300]!r}"
            ) from None
        if not isinstance(content, str):
            raise InfrastructureError(f"the content of the server's answer is no text: {hide(str(content))[:300]!r}")
        return cls(content, calls, "length" if finish == "length" else "stop")


def _call(function: dict[str, Any]) -> tuple[str, str]:
    """Name and arguments of a call as text. Some servers return the arguments as an object."""
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
    return str(function["name"]), text


def token_usage(answer: dict[str, Any]) -> tuple[float, float]:
    """Prompt and completion tokens in the server's usage; 0 if missing."""
    usage = answer.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    prompt, completion = (counts.get(f"{part}_tokens") for part in ("prompt", "completion"))
    return _token_count(prompt), _token_count(completion)


def _token_count(value: Any) -> float:
    """A valid token count; 0 for any other value."""
    return float(value) if isinstance(value, int | float) and 0 <= value < MAX_USAGE else 0.0
