"""Gives an engine that only samples batches the interface of a stream."""

from collections.abc import Sequence
from typing import Protocol

from handaxe.core.requests import Completion, Partial, Sample

__all__ = ["BatchStream"]


class _Samples(Protocol):
    def sample(self, requests: Sequence[Sample]) -> list[Completion]: ...


class BatchStream:
    """Implements `slots.Stream`: each poll samples all that wait in one batch, in order of submission, to the end."""

    def __init__(self, engine: _Samples):
        self._engine = engine
        self._waiting: dict[int, Sample] = {}
        self._submitted = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def submit(self, request: Sample) -> int:
        """Add a request; its ticket."""
        ticket = self._submitted
        self._submitted += 1
        self._waiting[ticket] = request
        return ticket

    def poll(self, wait: float = 0.0) -> list[tuple[int, Completion]]:
        """Sample everything that waits."""
        del wait
        waiting, self._waiting = self._waiting, {}
        if not waiting:
            return []
        return list(zip(waiting, self._engine.sample(list(waiting.values())), strict=True))

    def interrupt(self, ticket: int) -> Partial:
        """Take a request out; nothing is sampled of it but what was begun before."""
        return self._waiting.pop(ticket).prefix or Partial([], [], [], [])

    def close(self) -> None:
        """Forget every request."""
        self._waiting.clear()
