"""MCP transport over streamable HTTP."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from handaxe.core.errors import InputError

try:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client
    from mcp_types import INVALID_REQUEST
except ImportError as error:
    raise InputError("MCP needs its SDK: install it with pip install 'handaxe[mcp]'") from error

__all__ = ["MAX_BODY", "http_transport"]

MAX_BODY = 64 * 2**20
"""Bytes of the longest message. A longer message ends the session."""
NO_LOGIN = "the server refuses the credentials: give headers={'Authorization': 'Bearer ...'}"
CONNECT = 10.0
"""Seconds to connect. The caller limits the time of a response."""

# The SDK warns when a session of a dead server is closed; Python prints the warning if there is no handler.
logging.getLogger("mcp.client.streamable_http").addHandler(logging.NullHandler())


@asynccontextmanager
async def http_transport(url: str, headers: Mapping[str, str]) -> AsyncIterator[Any]:
    """Open the two streams of an MCP transport. Closing also ends the session at the server.

    Redirects are followed only on the same host and port, so headers reach no other server.
    """
    timeout = httpx2.Timeout(CONNECT, read=None)
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=timeout, transport=_Bounded()) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=MAX_BODY) as streams,
    ):
        yield streams


class _Bounded(httpx2.AsyncHTTPTransport):
    """Transport with responses of at most MAX_BODY bytes. Event streams are limited by the SDK.

    For a refused request the SDK reports only the refusal; this class adds that authentication is missing.
    """

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if response.status_code in (401, 403):
            await response.aclose()
            error = {"code": INVALID_REQUEST, "message": f"HTTP {response.status_code}: {NO_LOGIN}"}
            return httpx2.Response(response.status_code, json={"jsonrpc": "2.0", "id": None, "error": error})
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            response.stream = _Counted(response.stream)
        return response


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, stream: Any):
        self.stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for chunk in self.stream:
            seen += len(chunk)
            if seen > MAX_BODY:
                raise httpx2.ReadError(f"the response has more than {MAX_BODY} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self.stream.aclose()
