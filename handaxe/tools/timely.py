"""An HTTP connection on which no request may take long to arrive; the server that `serve` starts times out none."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["Timely"]

ARRIVAL = 30.0
"""Seconds from a connection's beginning, or a request's first byte, to the request's last byte."""


class Timely(H11Protocol):
    """Hangs up on who sends half a request and no more, or drop by drop."""

    seconds = ARRIVAL
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Expect a request."""
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Expect the rest of a request, unless all of it is there."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.more_body and not self.cycle.response_complete:
            self._arrived()
        else:
            self._expect()

    def on_response_complete(self) -> None:
        """Between two requests the server's own limit counts."""
        self._arrived()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more is expected."""
        self._arrived()
        super().connection_lost(exc)

    def _expect(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.seconds, self.transport.abort)

    def _arrived(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
