"""Limits on an MCP server's messages, applied before the SDK parses them.

The SDK makes an object of every part of a result and of every tool of a list, on the event loop that all sessions
share: 300,000 of them would block all sessions for seconds.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from handaxe.core.errors import InputError

try:
    from anyio import EndOfStream
except ImportError as error:
    raise InputError("MCP needs its SDK: install it with pip install 'handaxe[mcp]'") from error

__all__ = ["CappedStream", "MAX_BASE64", "MAX_PARTS", "MAX_TOOLS", "cap_messages"]

MAX_PARTS = 1_000
"""Parts of the longest result; further parts are replaced by their number."""
MAX_TOOLS = 1_000
"""Tools that a server may list."""
MAX_BASE64 = 64_000_000
"""Characters of base64 of a result, over all its parts; later parts with data are replaced by their kind."""


class CappedStream:
    """Server's message stream with messages cut to size.

    Attributes:
        noise: number of lines that looked like messages and were invalid.
    """

    def __init__(self, stream: Any):
        self._stream = stream
        self.noise = 0

    async def receive(self) -> Any:
        """Receive the next message, cut to size."""
        received = await self._stream.receive()
        if isinstance(received, Exception):
            self.noise += 1
            return received
        result = getattr(getattr(received, "message", None), "result", None)
        if isinstance(result, dict):
            _cut(result)
        return received

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    async def __aenter__(self) -> CappedStream:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    def __aiter__(self) -> CappedStream:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except EndOfStream as end:
            raise StopAsyncIteration from end

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@asynccontextmanager
async def cap_messages(transport: AbstractAsyncContextManager[Any], streams: list[CappedStream]) -> AsyncIterator[Any]:
    """Wrap a transport to cut messages to size; the wrapped stream is appended to `streams`."""
    async with transport as (incoming, *others):
        streams.append(CappedStream(incoming))
        yield (streams[-1], *others)


def _cut(result: dict[str, Any]) -> None:
    content, tools = result.get("content"), result.get("tools")
    if isinstance(content, list) and len(content) > MAX_PARTS:
        omitted = {"type": "text", "text": f"[{len(content) - MAX_PARTS} further parts left out]"}
        result["content"] = content = [*content[:MAX_PARTS], omitted]
    if isinstance(content, list):
        result["content"] = _cut_data(content)
    if isinstance(tools, list):
        result["tools"] = tools[: MAX_TOOLS + 1]


def _cut_data(content: list[Any]) -> list[Any]:
    """Replace parts whose base64 is beyond MAX_BASE64, summed over the parts before."""
    kept = list[Any]()
    left = MAX_BASE64
    for part in content:
        resource = part.get("resource") if isinstance(part, dict) else None
        holder = resource if isinstance(resource, dict) else part if isinstance(part, dict) else {}
        data = holder.get("data", holder.get("blob"))
        left -= len(data) if isinstance(data, str) else 0
        if left < 0 and isinstance(data, str):
            kind = str(holder.get("mimeType", "data"))[:80]
            part = {"type": "text", "text": f"[{kind}, {len(data) * 3 // 4} bytes, left out]"}
        kept.append(part)
    return kept
