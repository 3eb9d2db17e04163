"""Interface between the driver and its workers, for all requests except sampling."""

from typing import Any, NamedTuple, Protocol, runtime_checkable

from handaxe.core.requests import Act, Work

__all__ = ["Answer", "Executor"]


class Answer(NamedTuple):
    """Result of a request: a value, or an exception."""

    value: Any = None
    error: BaseException | None = None


@runtime_checkable
class Executor(Protocol):
    """Executes Act and Work. All methods are called by one thread."""

    def submit(self, ticket: int, request: Act | Work) -> None:
        """Start a request, or queue it."""
        ...

    def ready(self, wait: float | None) -> list[tuple[int, Answer]]:
        """Return new answers, each once; waits up to `wait` seconds for the first (None: indefinitely). Returns [] at
        once if nothing is in flight.
        """
        ...

    def forget(self, ticket: int) -> None:
        """Cancel a request, or drop its answer."""
        ...

    def __len__(self) -> int:
        """Number of requests in flight."""
        ...

    def close(self) -> None:
        """Drop all requests, and stop all threads and tasks."""
        ...
