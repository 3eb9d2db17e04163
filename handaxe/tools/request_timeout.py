"""HTTP protocol with a deadline for incoming requests, used by `serve`; the server itself sets no such limit."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["RequestTimeoutProtocol"]

REQUEST_SECONDS = 30.0
"""Seconds from the start of a connection, or from a request's first byte, to the request's last byte."""


class RequestTimeoutProtocol(H11Protocol):
    """Closes connections with incomplete or slow requests."""

    seconds = REQUEST_SECONDS
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start the deadline of the first request."""
        super().connection_made(transport)
        self._start_deadline()

    def data_received(self, data: bytes) -> None:
        """Start a deadline for the rest of a request; stop it when the request is complete."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.more_body and not self.cycle.response_complete:
            self._stop_deadline()
        else:
            self._start_deadline()

    def on_response_complete(self) -> None:
        """Stop the deadline: between requests the server's keep-alive limit applies."""
        self._stop_deadline()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the deadline."""
        self._stop_deadline()
        super().connection_lost(exc)

    def _start_deadline(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.seconds, self.transport.abort)

    def _stop_deadline(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
