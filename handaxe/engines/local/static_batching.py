"""Static batching: a stream that samples all waiting requests to the end in a single round."""

from __future__ import annotations

from collections.abc import Callable

from handaxe.core.errors import InputError
from handaxe.core.model_api import Model, PaddedModel
from handaxe.core.requests import Completion, Partial, Sample
from handaxe.engines.local.generate import generate
from handaxe.engines.local.modules import eval_mode
from handaxe.engines.local.sample_requests import check_request, partial_turn

__all__ = ["RoundStream"]


class RoundStream:
    """Stream over a `PaddedModel` (`engines.local.generate`); implements `core.protocols.Stream`.

    Each `poll` completes every waiting request. No request stays half sampled, and no keys and values outlive a poll.

    Args:
        model: implements `core.model_api.PaddedModel`; sampled with dropout off.
        version: returns the engine's current version.
        max_rows: rows in the cache at a time.

    Raises:
        InputError: the model is no `PaddedModel`.
    """

    def __init__(self, model: Model, *, version: Callable[[], int], max_rows: int):
        if not isinstance(model, PaddedModel):
            raise InputError(
                f"{type(model).__name__} cannot be sampled: it implements neither `slots` (core.model_api.CachedModel) "
                "nor `prefill`, `decode` and `keep` (core.model_api.PaddedModel)"
            )
        self._model = model
        self._padded = model
        self._version = version
        self._max_rows = max_rows
        self._device = next(model.module.parameters()).device
        self._waiting: dict[int, Sample] = {}
        self._tickets = 0
        self._closed = False

    def submit(self, request: Sample) -> int:
        """Add a request and return the ticket. Raises InputError for invalid requests, and after `close`."""
        if self._closed:
            raise InputError("the stream is closed; make a new one with engine.stream()")
        check_request(self._tickets, request, self._model)
        self._waiting[self._tickets] = request
        self._tickets += 1
        return self._tickets - 1

    def poll(self, wait: float = 0.0) -> list[tuple[int, Completion]]:
        """Complete every waiting request and return (ticket, completion) by ticket.

        Raises:
            TrainingError: the model's logits are not finite.
        """
        del wait
        if not self._waiting:
            return []
        waiting, self._waiting = self._waiting, {}
        with eval_mode(self._model.module):
            return generate(
                self._padded, waiting, version=self._version(), max_rows=self._max_rows, device=self._device
            )

    def interrupt(self, ticket: int) -> Partial:
        """Remove a request and return the partial turn of the request. Raises InputError for an unknown ticket."""
        if ticket not in self._waiting:
            raise InputError(
                f"there is no request {ticket} to interrupt: it was never submitted, has ended or was interrupted"
            )
        return partial_turn(self._waiting.pop(ticket))

    def __len__(self) -> int:
        return len(self._waiting)

    def close(self) -> None:
        """Drop every request."""
        self._closed = True
        self._waiting.clear()
