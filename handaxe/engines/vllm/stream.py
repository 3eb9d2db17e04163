"""A stream whose requests are sampled by vLLM servers."""

from __future__ import annotations

import concurrent.futures
import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.requests import Completion, Partial, Sample
from handaxe.engines.local.requests import begun, check_request, completed, finish
from handaxe.engines.vllm.http import LostError, Written

if TYPE_CHECKING:
    from handaxe.engines.vllm.servers import VllmServers

__all__ = ["VllmStream"]

MOMENT = 0.05
"""Seconds between two looks at the servers while there is nothing to hand over."""
AGAIN = 0.5
"""Seconds after which a server is told once more to stop a request: it may not have known of it the first time."""

MOST_LOST = 3
"""Servers that may be lost with one request at work, before it is taken to be the cause."""


@dataclass
class _Turn:
    """A request. One that has a place is at work on that server, under that name."""

    ticket: int
    request: Sample
    since: float = field(default_factory=time.perf_counter)
    place: tuple[int, int] | None = None
    name: str = ""
    future: concurrent.futures.Future[Written] | None = None
    lost: int = 0
    waits: float = field(default_factory=time.monotonic)


class VllmStream:
    """Implements `slots.Stream`. A request is sent at the next `poll`, to the server that has its prefix.

    One whose server is lost is sent again elsewhere, from where it was begun. Its draws depend on its seed and place
    only, so it comes out as it would have, while the weights stay. When no server was up for `patience` seconds, or
    none can come any more, `poll` hands over an InfrastructureError in place of each completion.
    """

    def __init__(self, servers: VllmServers):
        self._servers = servers
        self._turns: dict[int, _Turn] = {}
        self._tickets = 0
        self._closed = False

    def submit(self, request: Sample) -> int:
        """Add a request; its ticket. Raises InputError when it cannot be sampled, and after `close`. An id that the
        model does not have would end a server, so nothing is sent that was not checked."""
        if self._closed:
            raise InputError("the stream is closed; make a new one with engine.stream()")
        check_request(self._tickets, request, self._servers.policy)
        self._turns[self._tickets] = _Turn(self._tickets, request)
        self._tickets += 1
        return self._tickets - 1

    def poll(self, wait: float = 0.0) -> list[tuple[int, Any]]:
        """What ended, in order of ticket; waits up to `wait` seconds for the first. Pushes weights that have changed.

        Raises:
            InputError: a server refuses a request.
            TrainingError: a server samples from other weights than the engine's, or its logits are not finite.
        """
        deadline = time.monotonic() + wait
        while self._turns:
            self._servers.push()
            self._send()
            done = self._collect()
            left = deadline - time.monotonic()
            if done or left <= 0:
                return done
            futures = [turn.future for turn in self._turns.values() if turn.future is not None]
            if futures:
                concurrent.futures.wait(futures, min(left, MOMENT), concurrent.futures.FIRST_COMPLETED)
            else:
                time.sleep(min(left, MOMENT))
        return []

    def interrupt(self, ticket: int) -> Partial:
        """Take a request out and hand over what is sampled of its turn. Raises InputError when it is not in.

        Of a turn that has ended on its server, and was not handed over yet, all but the last token: it can go on from
        there, and draws that token again.
        """
        if ticket not in self._turns:
            raise InputError(
                f"there is no request {ticket} to interrupt: it was never submitted, has ended or is out already"
            )
        turn = self._turns.pop(ticket)
        before = begun(turn.request)
        written = self._stopped(turn)
        if written is None or not written.ids:
            return before
        ended = written.finish != "abort" or finish(turn.request, written.ids[-1]) != "length"
        return _joined(before, written, len(written.ids) - ended)

    def __len__(self) -> int:
        return len(self._turns)

    def close(self) -> None:
        """Stop every request."""
        turns = list(self._turns.values())
        self._turns.clear()
        self._closed = True
        for turn in turns:
            http = None if turn.place is None else self._servers.http(turn.place)
            if http is not None:
                http.abort(turn.name)
            self._away(turn)

    # --- what happens to a turn --------------------------------------------------------------------------------------

    def _send(self) -> None:
        for turn in self._turns.values():
            if turn.place is not None:
                continue
            ids = [*turn.request.ids, *begun(turn.request).ids]
            place = self._servers.choose(ids)
            http = None if place is None else self._servers.http(place)
            if place is None or http is None:
                return
            turn.place, turn.name = place, f"{uuid.uuid4().hex}-{turn.ticket}"
            policy = self._servers.policy
            turn.future = http.generate(
                turn.request, turn.name, vocab_size=policy.vocab_size, max_length=policy.max_length
            )
            self._servers.places.learn(ids, place[0])

    def _collect(self) -> list[tuple[int, Any]]:
        done: list[tuple[int, Any]] = []
        for turn in list(self._turns.values()):
            result = self._result(turn)
            if result is not None:
                del self._turns[turn.ticket]
                done.append((turn.ticket, result))
        return sorted(done, key=lambda pair: pair[0])

    def _result(self, turn: _Turn) -> Completion | InfrastructureError | None:
        """What became of a turn; None while nothing did."""
        if turn.place is None or turn.future is None:
            return self._too_late(turn)
        if not turn.future.done():
            if self._servers.http(turn.place) is None:  # its server was lost, and may never answer
                self._away(turn)
            return None
        place, future = turn.place, turn.future
        self._away(turn)
        try:
            written = future.result()
            if written.finish == "abort" or not written.ids:  # this stream did not stop it
                raise LostError(f"a server ended it after {len(written.ids)} tokens, for no reason given")
        except (LostError, concurrent.futures.CancelledError) as error:
            self._servers.lost(place, error)
            turn.lost += 1
            if turn.lost < MOST_LOST:
                return None
            return InfrastructureError(
                f"request {turn.ticket}: {turn.lost} servers were lost with it, the last: {error}"
            )
        except InputError as error:
            del self._turns[turn.ticket]
            raise InputError(f"request {turn.ticket}: {error}") from None
        whole = _joined(begun(turn.request), written, len(written.ids))
        self._servers.places.learn([*turn.request.ids, *whole.ids], place[0])
        return completed(turn.ticket, turn.request, whole, time.perf_counter() - turn.since)

    def _too_late(self, turn: _Turn) -> InfrastructureError | None:
        never, waited = self._servers.waiting(), time.monotonic() - turn.waits
        if never:
            return InfrastructureError(f"request {turn.ticket}: no server is left. {never}")
        if waited > self._servers.patience:
            return InfrastructureError(
                f"request {turn.ticket}: no server was up for {waited:.0f} s. {self._servers.reasons()}"
            )
        return None

    def _stopped(self, turn: _Turn) -> Written | None:
        """What a server wrote of a turn until it was told to stop; None when it has none or is lost."""
        place, future = turn.place, turn.future
        http = None if place is None else self._servers.http(place)
        if place is None or future is None or http is None:
            self._away(turn)
            return None
        deadline = time.monotonic() + self._servers.timeout
        try:
            while not future.done():
                http.abort(turn.name)
                concurrent.futures.wait([future], AGAIN)
                if time.monotonic() > deadline:
                    raise LostError(f"request {turn.ticket} was to stop, and had not {self._servers.timeout:g} s later")
            return future.result()
        except (LostError, concurrent.futures.CancelledError) as error:
            self._servers.lost(place, error)
            return None
        finally:
            self._away(turn)

    def _away(self, turn: _Turn) -> None:
        """Take a turn off its server."""
        if turn.future is not None:
            turn.future.cancel()
        if turn.place is not None:
            self._servers.leave(turn.place)
        turn.place, turn.future = None, None
        turn.waits = time.monotonic()


def _joined(before: Partial, written: Written, count: int) -> Partial:
    """What was sampled before, and the first `count` tokens that a server wrote."""
    return Partial(
        [*before.ids, *written.ids[:count]],
        [*before.logp, *written.logp[:count]],
        [*before.behaviour_logp, *written.behaviour_logp[:count]],
        [*before.version, *written.version[:count]],
    )
