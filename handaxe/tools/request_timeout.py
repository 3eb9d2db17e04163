"""HTTP protocol with limits on incomplete requests and open connections; the server itself sets no such limits."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

from uvicorn.protocols.http.flow_control import service_unavailable
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["RequestTimeoutProtocol"]

REQUEST_SECONDS = 30.0
"""Seconds from the start of a connection, or from a request's first byte, to the request's last byte."""


class RequestTimeoutProtocol(H11Protocol):
    """Closes connections with incomplete or slow requests.

    A connection above `max_connections` closes the connection that has waited longest for a complete request. While all
    connections have complete requests, a further request gets status 503.
    """

    seconds = REQUEST_SECONDS
    max_connections = 1000
    idle_since: int | None = None
    """Event number since which the connection has had no complete request; None while a request is answered."""
    _timer: asyncio.TimerHandle | None = None
    _events = itertools.count()

    def connection_made(self, transport: Any) -> None:
        """Start the deadline of the first request; make room for the connection."""
        super().connection_made(transport)
        self.idle_since = next(self._events)
        self._start_deadline()
        if len(self.connections) > self.max_connections:
            self._close_longest_idle()
        if len(self.connections) > self.max_connections:
            self.app = service_unavailable

    def data_received(self, data: bytes) -> None:
        """Start a deadline for the rest of a request; stop it when the request is complete."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.more_body and not self.cycle.response_complete:
            self.idle_since = None
            self._stop_deadline()
        else:
            self._start_deadline()

    def on_response_complete(self) -> None:
        """Stop the deadline: between requests the server's keep-alive limit applies."""
        self._stop_deadline()
        self.idle_since = next(self._events)
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the deadline."""
        self._stop_deadline()
        super().connection_lost(exc)

    def _close_longest_idle(self) -> None:
        idle = {
            one: one.idle_since
            for one in self.connections
            if isinstance(one, RequestTimeoutProtocol) and one is not self and one.idle_since is not None
        }
        if idle:
            longest = min(idle, key=idle.__getitem__)
            self.connections.discard(longest)  # now: further connections are made before the loss is reported
            longest.transport.abort()

    def _start_deadline(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.seconds, self.transport.abort)

    def _stop_deadline(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
