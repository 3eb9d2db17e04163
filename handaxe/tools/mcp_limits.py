"""How much a server may say in one message, whatever carries it: what is more is cut before the SDK looks at it.

The SDK makes an object of every part of a result and of every tool of a list, on the event loop that all sessions
share: 300,000 of them would hold up all of them for seconds.
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

__all__ = ["Heard", "MAX_PARTS", "MAX_TOOLS", "bounded"]

MAX_PARTS = 1_000
"""Parts of the longest result; of those after it, it is said how many they were."""
MAX_TOOLS = 1_000
"""Tools that a server may list."""


class Heard:
    """What came of a server, in place of the stream that the SDK reads.

    Attributes:
        noise: how many lines looked like a message and were none.
    """

    def __init__(self, stream: Any):
        self._stream = stream
        self.noise = 0

    async def receive(self) -> Any:
        """The next message, cut to size."""
        heard = await self._stream.receive()
        if isinstance(heard, Exception):
            self.noise += 1
            return heard
        result = getattr(getattr(heard, "message", None), "result", None)
        if isinstance(result, dict):
            _cut(result)
        return heard

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    async def __aenter__(self) -> Heard:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    def __aiter__(self) -> Heard:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except EndOfStream as over:
            raise StopAsyncIteration from over

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@asynccontextmanager
async def bounded(transport: AbstractAsyncContextManager[Any], heard: list[Heard]) -> AsyncIterator[Any]:
    """The transport with its messages cut to size; what reads them is added to `heard`."""
    async with transport as (incoming, *others):
        heard.append(Heard(incoming))
        yield (heard[-1], *others)


def _cut(result: dict[str, Any]) -> None:
    content, tools = result.get("content"), result.get("tools")
    if isinstance(content, list) and len(content) > MAX_PARTS:
        left_out = {"type": "text", "text": f"[{len(content) - MAX_PARTS} further parts left out]"}
        result["content"] = [*content[:MAX_PARTS], left_out]
    if isinstance(tools, list):
        result["tools"] = tools[: MAX_TOOLS + 1]
