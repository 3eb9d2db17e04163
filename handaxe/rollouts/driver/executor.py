"""Carries out what rollouts wait for besides tokens: the interface between the driver and its workers."""

from typing import Any, NamedTuple, Protocol, runtime_checkable

from handaxe.core.requests import Act, Work

__all__ = ["Answer", "Executor"]


class Answer(NamedTuple):
    """What came of a request: a value, or the exception it raised."""

    value: Any = None
    error: BaseException | None = None


@runtime_checkable
class Executor(Protocol):
    """Carries out Act and Work. All methods are called by one thread."""

    def submit(self, ticket: int, request: Act | Work) -> None:
        """Begin it, or let it wait its turn."""
        ...

    def ready(self, wait: float | None) -> list[tuple[int, Answer]]:
        """What has been answered, each once; waits at most `wait` seconds for one (None: until there is one). Empty
        at once when nothing is in flight."""
        ...

    def forget(self, ticket: int) -> None:
        """It is not waited for any more: cancel it, or drop the answer."""
        ...

    def __len__(self) -> int:
        """How many are in flight."""
        ...

    def close(self) -> None:
        """Forget everything, and end what it started."""
        ...
