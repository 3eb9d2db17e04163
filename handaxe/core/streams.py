"""The signatures of continuous sampling, which `handaxe.core.protocols` hands on."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from handaxe.core.requests import Completion, Partial, Sample

__all__ = ["Stream", "Streams"]


class Stream(Protocol):
    """Sampling at work, with requests joining and leaving between two tokens (continuous batching).

    A completion depends on its request and the weights alone, not on what else is in the stream. When the engine's
    version has changed since the last `poll`, requests go on under the new weights from where they are, and nothing
    computed under the old ones is used again.
    """

    def submit(self, request: Sample) -> int:
        """Add a request; its ticket, counted from 0. Raises InputError for one that cannot be sampled."""
        ...

    def poll(self, wait: float = 0.0) -> list[tuple[int, Completion]]:
        """Write a token or more for every request that is in, and hand over those that ended, in order of ticket. One
        that samples elsewhere waits up to `wait` seconds for that; a request that fails there ends as the error."""
        ...

    def interrupt(self, ticket: int) -> Partial:
        """Take a request out and hand over what is sampled of it so far."""
        ...

    def __len__(self) -> int:
        """How many requests are in, or wait to get in."""
        ...

    def close(self) -> None:
        """Forget every request and release the memory."""
        ...


@runtime_checkable
class Streams(Protocol):
    """An engine that can sample continuously. The driver makes do without, a batch at a time."""

    def stream(self) -> Stream:
        """A new stream. It may keep keys and values of ended requests, to go on from when a request begins alike."""
        ...
