"""Web server of tools, policies and pages: limits on connections and on the time of a request."""

from __future__ import annotations

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
        timeout_graceful_shutdown=shutdown_seconds,
        http=Protocol,
        ws="none",
    )
    return uvicorn.Server(config)


def _max_files() -> int:
    if resource is None:
        return 512
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2 * MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else max(soft, 16)
