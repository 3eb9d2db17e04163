"""Web server of tools, policies and pages: limits on connections and on the time of a request."""

from __future__ import annotations

from socket import socket
from typing import Any

import uvicorn

from handaxe.tools.request_timeout import RequestTimeoutProtocol

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

__all__ = ["MAX_CONNECTIONS", "http_server"]

MAX_CONNECTIONS = 1000
"""Most open connections of a server. A process that may open few files has fewer: half of that number."""
QUEUE = 2048
"""Most connections that the system keeps until the server accepts them."""


def http_server(app: Any, *, shutdown_seconds: int = 2, max_connections: int = MAX_CONNECTIONS) -> uvicorn.Server:
    """Make a server that incomplete requests cannot exhaust; start it with `run(sockets=[bind_socket(host, port)])`.

    A request that is incomplete after 30 seconds is disconnected. Above the limit of connections, a new connection
    replaces the one that has waited longest for a complete request; while all connections have complete requests,
    further requests get status 503.

    Args:
        app: an ASGI app.
        shutdown_seconds: time for running requests after the server is stopped.
        max_connections: most open connections, and at most half of the files that the process may open.
    """
    limit = min(max_connections, _max_files() // 2)

    class Protocol(RequestTimeoutProtocol):
        max_connections = limit

    config = uvicorn.Config(
        app,
        log_level="warning",
        backlog=max(1, limit // 4),
        timeout_graceful_shutdown=shutdown_seconds,
        http=Protocol,
        ws="none",
    )
    return _Server(config)


class _Server(uvicorn.Server):
    """Server whose event loop accepts few connections at a time, from a long queue.

    asyncio accepts `backlog` connections before it runs the protocol, which closes those above the limit. With the
    usual number of 2,048 a burst uses up the open files of the process, and asyncio stops to accept.
    """

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Start, and lengthen the queue of the sockets, which asyncio sets to `backlog`."""
        await super().startup(sockets=sockets)
        for one in sockets or ():
            one.listen(QUEUE)


def _max_files() -> int:
    if resource is None:
        return 512
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2 * MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else max(soft, 16)
