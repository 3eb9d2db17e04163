"""Stream interface for an engine with batch sampling only."""

from collections.abc import Sequence
from typing import Protocol

from handaxe.core.requests import Completion, Partial, Sample

__all__ = ["BatchStream"]


class _Samples(Protocol):
    def sample(self, requests: Sequence[Sample]) -> list[Completion]: ...


class BatchStream:
    """`Stream` over batches: each poll samples all pending requests to the end, as one batch in submission order."""

    def __init__(self, engine: _Samples):
        self._engine = engine
        self._waiting: dict[int, Sample] = {}
        self._submitted = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def submit(self, request: Sample) -> int:
        """Add a request; returns its ticket."""
        ticket = self._submitted
        self._submitted += 1
        self._waiting[ticket] = request
        return ticket

    def poll(self, wait: float = 0.0) -> list[tuple[int, Completion]]:
        """Sample all pending requests."""
        del wait
        waiting, self._waiting = self._waiting, {}
        if not waiting:
            return []
        return list(zip(waiting, self._engine.sample(list(waiting.values())), strict=True))

    def interrupt(self, ticket: int) -> Partial:
        """Remove a request; returns its prefix, since nothing else was sampled."""
        return self._waiting.pop(ticket).prefix or Partial([], [], [], [])

    def close(self) -> None:
        """Drop all requests."""
        self._waiting.clear()
