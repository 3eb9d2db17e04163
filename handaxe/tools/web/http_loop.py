"""HTTP client in a background thread: deadlines over whole requests, bounded answers."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.tools.background_loop import BackgroundLoop
from handaxe.tools.web.decompress import DecompressionError, decompress

__all__ = ["HttpAnswer", "HttpFailure", "HttpLoop", "check_address"]

CONNECT_TIMEOUT = 10.0
"""Most seconds to connect, also for requests with a longer deadline."""


class HttpFailure(Exception):
    """A request without a usable answer: no connection, a passed deadline, or an answer that is too long."""


class HttpAnswer(NamedTuple):
    """Status, headers and decompressed body of an answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpLoop:
    """One HTTP client on one event loop in a thread: hundreds of pending requests are cheap, and cancelling a request
    delays no other. Redirects are not followed; certificates are verified.

    Args:
        headers: of every request.
        trust_env: use the proxies of the environment.

    Raises:
        InputError: httpx is missing.
    """

    def __init__(self, *, headers: Mapping[str, str] | None = None, trust_env: bool = False):
        self._httpx = httpx = _httpx()
        self._client = httpx.AsyncClient(
            headers={**(headers or {}), "accept-encoding": "gzip"},
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
            trust_env=trust_env,
            follow_redirects=False,
        )
        self._loop = BackgroundLoop("handaxe-http")

    def submit(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Start a coroutine on the loop; see `BackgroundLoop.submit`."""
        return self._loop.submit(work)

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Wait for a coroutine on the loop; see `BackgroundLoop.wait`."""
        return self._loop.wait(work)

    async def fetch(
        self,
        method: str,
        url: str,
        *,
        json: Mapping[str, Any] | None = None,
        params: Mapping[str, str] | None = None,
        timeout: float,
        limit: int,
    ) -> HttpAnswer:
        """Send a request and receive the whole answer.

        Args:
            json: body.
            params: query parameters.
            timeout: seconds of the whole request: connection, headers, and the last byte of the body.
            limit: most bytes of the body, before and after decompression.

        Raises:
            HttpFailure: no complete answer within `timeout` and `limit`; the message has the reason.
        """
        httpx = self._httpx
        timeouts = httpx.Timeout(timeout, connect=min(timeout, CONNECT_TIMEOUT))
        raw = list[bytes]()
        try:
            async with (
                asyncio.timeout(timeout),
                self._client.stream(method, url, json=json, params=params, timeout=timeouts) as response,
            ):
                size = 0
                async for chunk in response.aiter_raw():
                    size += len(chunk)
                    _check_size(size, limit)
                    raw.append(chunk)
        except TimeoutError:
            raise HttpFailure(f"the answer was not complete after {timeout:g} seconds") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise HttpFailure(f"{type(error).__name__} {error}".strip()) from None
        headers = response.headers
        return HttpAnswer(response.status_code, headers, _decompressed(raw, headers.get("content-encoding", ""), limit))

    def close(self) -> None:
        """Cancel pending requests, close connections and end the thread. Idempotent."""
        self._loop.close(self._client.aclose)


def check_address(url: str) -> None:
    """Raise InputError unless `url` is the address of an HTTP server."""
    httpx = _httpx()
    try:
        if httpx.URL(url).scheme in ("http", "https"):
            return
        reason = "it does not start with http:// or https://"
    except httpx.InvalidURL as error:
        reason = str(error)
    raise InputError(f"{url!r} is no server address ({reason}); give one such as http://127.0.0.1:8000")


def _httpx() -> Any:
    """Import httpx late: commands without a server work without httpx."""
    try:
        import httpx
    except ImportError as error:
        raise InputError(f"HTTP servers need httpx: pip install 'handaxe[http]' ({error})") from error
    return httpx


def _decompressed(raw: list[bytes], encoding: str, limit: int) -> bytes:
    body = bytearray()
    try:
        for piece in decompress(raw, encoding):
            body += piece
            _check_size(len(body), limit)
    except DecompressionError as error:
        raise HttpFailure(str(error)) from None
    return bytes(body)


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise HttpFailure(f"the answer has more than {limit} bytes")
