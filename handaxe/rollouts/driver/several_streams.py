"""Several engines' streams behind one interface, with requests routed by engine name."""

from collections.abc import Mapping

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.protocols import Stream
from handaxe.core.requests import Completion, Partial, Sample

__all__ = ["SeveralStreams"]

MOMENT = 0.002
"""Seconds."""


class SeveralStreams:
    """`Stream` over several engines.

    Args:
        streams: by the name in `Sample.by`; "" is the policy's.

    Raises:
        InputError: by `submit`, for a request to an engine that is missing.
    """

    def __init__(self, streams: Mapping[str, Stream]):
        self._streams = dict(streams)
        self._inner: dict[int, tuple[str, int]] = {}
        self._outer: dict[tuple[str, int], int] = {}
        self._submitted = 0

    def __len__(self) -> int:
        return sum(len(stream) for stream in self._streams.values())

    def submit(self, request: Sample) -> int:
        """Submit a request to its stream; returns the ticket, counted over all streams."""
        if request.by not in self._streams:
            known = ", ".join(repr(name) for name in self._streams if name) or "none"
            raise InputError(f"a rollout asks {request.by!r}, but no engine of that name was given; there is {known}")
        place = (request.by, self._streams[request.by].submit(request))
        ticket, self._submitted = self._submitted, self._submitted + 1
        self._inner[ticket], self._outer[place] = place, ticket
        return ticket

    def poll(self, wait: float = 0.0) -> list[tuple[int, Completion]]:
        """Return completions of all streams; with several active streams each waits only briefly."""
        busy = [name for name, stream in self._streams.items() if len(stream)]
        ended: list[tuple[int, Completion | InfrastructureError]] = []
        for name in busy:
            for ticket, completion in self._streams[name].poll(wait if len(busy) == 1 else min(wait, MOMENT)):
                outer = self._outer.pop((name, ticket))
                del self._inner[outer]
                ended.append((outer, completion))
        return sorted(ended, key=lambda one: one[0])  # type: ignore[arg-type, return-value]

    def interrupt(self, ticket: int) -> Partial:
        """Remove a request from its stream."""
        name, inner = place = self._inner.pop(ticket)
        del self._outer[place]
        return self._streams[name].interrupt(inner)

    def close(self) -> None:
        """Close all streams."""
        self._inner.clear()
        self._outer.clear()
        for stream in self._streams.values():
            stream.close()
