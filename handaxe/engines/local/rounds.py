"""The stream of models whose rows cannot join and leave between two tokens: all that wait are sampled in one round."""

from __future__ import annotations

from collections.abc import Callable

from handaxe.core.errors import InputError
from handaxe.core.model_api import Model, PaddedModel
from handaxe.core.requests import Completion, Partial, Sample
from handaxe.engines.local.generate import generate
from handaxe.engines.local.modules import evaluating
from handaxe.engines.local.requests import begun, check_request

__all__ = ["RoundStream"]


class RoundStream:
    """Sample in rounds (`engines.local.generate`); implements `slots.Stream`. Each `poll` completes every request that
    waits,
    so none is ever half done, and nothing is kept between two polls.

    Args:
        model: sampled from with dropout off; offers what `networks.PaddedModel` says.
        version: the engine's version now.
        max_rows: rows in the cache at a time.

    Raises:
        InputError: when the model cannot be sampled from in rounds.
    """

    def __init__(self, model: Model, *, version: Callable[[], int], max_rows: int):
        if not isinstance(model, PaddedModel):
            raise InputError(
                f"{type(model).__name__} cannot be sampled from: it offers neither `slots` (networks.CachedModel) nor "
                "`prefill`, `decode` and `keep` (networks.PaddedModel)"
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
        """Add a request; its ticket. Raises InputError when it cannot be sampled, and after `close`."""
        if self._closed:
            raise InputError("the stream is closed; make a new one with engine.stream()")
        check_request(self._tickets, request, self._model)
        self._waiting[self._tickets] = request
        self._tickets += 1
        return self._tickets - 1

    def poll(self, wait: float = 0.0) -> list[tuple[int, Completion]]:
        """Complete every request that waits; (ticket, completion) in order of ticket.

        Raises:
            TrainingError: when the model's logits are not finite.
        """
        del wait
        if not self._waiting:
            return []
        waiting, self._waiting = self._waiting, {}
        with evaluating(self._model.module):
            return generate(
                self._padded, waiting, version=self._version(), max_rows=self._max_rows, device=self._device
            )

    def interrupt(self, ticket: int) -> Partial:
        """Take a request out; what was sampled of its turn before. Raises InputError when it is not in."""
        if ticket not in self._waiting:
            raise InputError(
                f"there is no request {ticket} to interrupt: it was never submitted, has ended or is out already"
            )
        return begun(self._waiting.pop(ticket))

    def __len__(self) -> int:
        return len(self._waiting)

    def close(self) -> None:
        """Forget every request."""
        self._closed = True
        self._waiting.clear()
