"""Posts a JSON request to a chat server and reads its answer, again where that helps, in bounded time and space."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.records import Finish
from handaxe.ops.nesting import DEEPEST, deeper
from handaxe.tools.web.keys import Secrets, check_headers
from handaxe.tools.web.unpack import PackedError, unpacked

__all__ = ["ChatHttp", "RefusedError", "Said"]

AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses after which the same request may succeed."""
MAX_BODY = 32 * 2**20
"""Bytes of the longest answer."""
LONGEST_WAIT = 60.0
"""Seconds of the longest pause between two attempts, whatever the server asks for."""


class RefusedError(Exception):
    """The server understood the request and will not carry it out; `status` is the HTTP status."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


class ChatHttp:
    """One server. Calls may come from many threads.

    Args:
        url: the address that requests go to.
        key: sent as a bearer token.
        headers: sent besides. Like the key they are never shown: `Secrets` cuts them out of every message.
        timeout: seconds one attempt may take, all of it.
        attempts: how often a request is tried, >= 1.
        backoff: seconds before the second attempt, doubled for each further one; a server's Retry-After counts more.

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
        self._httpx = httpx = _httpx()
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
        try:
            httpx.URL(url)
        except httpx.InvalidURL as error:
            raise InputError(f"{url!r} is no address of a server: {error}") from None
        # A redirect would carry the conversation, and perhaps the key, to an address the user did not name.
        self._client = httpx.Client(
            headers={**sent, "accept-encoding": "gzip"}, timeout=timeout, limits=limits, follow_redirects=False
        )
        self._over = threading.Event()

    def post(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The answer.

        Raises:
            RefusedError: the request is wrong, and would be again.
            InfrastructureError: no attempt got an answer; the message says what became of the last one.
        """
        trouble = _AgainError("")
        for attempt in range(self._attempts):
            if attempt and self._over.wait(self._pause(attempt, trouble)):
                break
            try:
                return self._once(body)
            except _AgainError as error:
                trouble = error
            except self._httpx.HTTPError as error:
                trouble = _AgainError(f"{type(error).__name__}: {error}")
        if self._over.is_set():
            raise InfrastructureError(f"the engine for {self._url} was closed")
        raise InfrastructureError(
            self.hide(f"{self._url} gave no answer in {self._attempts} attempts; the last one: {trouble}")
        )

    def close(self) -> None:
        """Let go of the connections; who waits between two attempts gives up."""
        self._over.set()
        self._client.close()

    def _once(self, body: Mapping[str, Any]) -> dict[str, Any]:
        deadline = time.monotonic() + self._timeout
        with self._client.stream("POST", self._url, json=dict(body)) as response:
            status, headers = response.status_code, response.headers
            text = bytearray()
            try:
                for piece in unpacked(response.iter_raw(), headers.get("content-encoding", "")):
                    text += piece
                    if len(text) > MAX_BODY:
                        raise _AgainError(f"the answer has more than {MAX_BODY} bytes")
                    if time.monotonic() > deadline:
                        raise _AgainError(f"the answer was not complete after {self._timeout:g} seconds")
            except PackedError as error:
                raise _AgainError(str(error)) from None
        said = self.hide(bytes(text[:4000]).decode(errors="replace"), cut=len(text) > 4000)[:2000]
        if status in AGAIN:
            raise _AgainError(f"HTTP {status}: {said[:500]}", after=_seconds(headers.get("retry-after", "")))
        if 300 <= status < 400:
            where = self.hide(headers.get("location", ""))[:300]
            raise RefusedError(status, f"it redirects to {where!r}; give that address if you trust it")
        if status != 200:
            raise RefusedError(status, said)
        try:
            answer = json.loads(bytes(text))
        except (ValueError, RecursionError):
            raise _AgainError(f"the answer is not JSON: {said[:200]!r}") from None
        if not isinstance(answer, dict) or deeper(answer, DEEPEST):
            raise _AgainError(f"the answer is no JSON object of at most {DEEPEST} levels: {said[:200]!r}")
        return answer

    def _pause(self, attempt: int, trouble: _AgainError) -> float:
        own = self._backoff * 2 ** (attempt - 1) * random.uniform(0.5, 1.0)  # so that many do not come back together
        return min(LONGEST_WAIT, max(own, trouble.after))


def _httpx() -> Any:
    """Imported late: a command that may talk to a server must work without it when it does not."""
    try:
        import httpx
    except ImportError as error:
        raise InputError("chat servers need httpx: install it with pip install 'handaxe[http]'") from error
    return httpx


class _AgainError(Exception):
    """What happened to an attempt that may be repeated, after `after` seconds."""

    def __init__(self, message: str, *, after: float = 0.0):
        super().__init__(message)
        self.after = after


def _seconds(text: str) -> float:
    """A Retry-After in seconds; 0 for a date or nonsense."""
    try:
        return max(0.0, float(text))
    except ValueError:
        return 0.0


class Said(NamedTuple):
    """What a server said: text, (name, arguments as it gave them) of each call, and how it ended."""

    content: str
    calls: list[tuple[str, str]]
    finish: Finish

    @classmethod
    def of(cls, answer: dict[str, Any], *, hide: Callable[[str], str] = str) -> Said:
        """Read an answer; raises InfrastructureError when it is no chat completion, with the answer after `hide`."""
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
            raise InfrastructureError(
                f"the server's answer holds content that is no text: {hide(str(content))[:300]!r}"
            )
        return cls(content, calls, "length" if finish == "length" else "stop")


def _call(function: dict[str, Any]) -> tuple[str, str]:
    """Name and arguments. Some servers give the arguments as an object instead of its text."""
    given = function.get("arguments")
    text = given if isinstance(given, str) else json.dumps({} if given is None else given)
    return str(function["name"]), text
