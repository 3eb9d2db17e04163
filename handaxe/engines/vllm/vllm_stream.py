"""Stream of requests sampled by vLLM servers."""

from __future__ import annotations

import concurrent.futures
import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from handaxe.core.errors import InfrastructureError, InputError, TrainingError
from handaxe.core.requests import Completion, Partial, Sample
from handaxe.engines.local.sample_requests import (
    check_request,
    finish_reason,
    make_completion,
    partial_turn,
)
from handaxe.engines.vllm.generate_request import Generated
from handaxe.engines.vllm.image_prompt import ImagePrompt, image_prompt
from handaxe.engines.vllm.vllm_http import ServerLostError

if TYPE_CHECKING:
    from handaxe.engines.vllm.server_states import Placement
    from handaxe.engines.vllm.servers import VllmServers

__all__ = ["VllmStream"]

POLL_INTERVAL = 0.05
"""Seconds between two checks of the servers in `poll`."""
ABORT_INTERVAL = 0.5
"""Seconds between two abort calls for a request; the server may not know the request at the first."""

MAX_LOST_SERVERS = 3
"""Servers lost while they sample one request, after which the request counts as the cause and fails."""


@dataclass
class _Turn:
    """A request, with `prompt` if it has image tokens. In the sampling state, `server` is the number and generation of
    the server, and `name` the server's name for the request."""

    ticket: int
    request: Sample
    prompt: ImagePrompt | None = None
    start_time: float = field(default_factory=time.perf_counter)
    server: Placement | None = None
    name: str = ""
    future: concurrent.futures.Future[Generated] | None = None
    lost_servers: int = 0
    waiting_since: float = field(default_factory=time.monotonic)


class VllmStream:
    """Implements `core.protocols.Stream`. The next `poll` sends a request, to the server with the longest cached
    prefix.

    The request of a lost server is sent to another server and restarts. Its tokens depend only on seed and position, so
    that the completion is unchanged under equal weights. If no server was up for `wait_timeout` seconds, or all servers
    were given up, `poll` returns an InfrastructureError instead of each completion.
    """

    def __init__(self, servers: VllmServers):
        self._servers = servers
        self._turns: dict[int, _Turn] = {}
        self._tickets = 0
        self._closed = False

    def submit(self, request: Sample) -> int:
        """Add a request and return the ticket. Raises InputError for invalid requests, and after `close`. Validation
        precedes sending, because an id outside the vocabulary would end a server."""
        if self._closed:
            raise InputError("the stream is closed; make a new one with engine.stream()")
        policy = self._servers.policy
        check_request(self._tickets, request, policy.model or policy)
        self._turns[self._tickets] = _Turn(self._tickets, request, self._image_prompt(request))
        self._tickets += 1
        return self._tickets - 1

    def poll(self, wait: float = 0.0) -> list[tuple[int, Any]]:
        """Push changed weights, wait up to `wait` seconds for the first request to end, return ended requests by
        ticket.

        Raises:
            InputError: a server refuses a request.
            TrainingError: a server's weights differ from the engine's, or a server makes other tokens of an image.
            NonFiniteError: the engine's log-probs are not finite.
        """
        deadline = time.monotonic() + wait
        while self._turns:
            self._servers.push()
            self._send()
            done = self._collect()
            remaining = deadline - time.monotonic()
            if done or remaining <= 0:
                return done
            futures = [turn.future for turn in self._turns.values() if turn.future is not None]
            if futures:
                concurrent.futures.wait(futures, min(remaining, POLL_INTERVAL), concurrent.futures.FIRST_COMPLETED)
            else:
                time.sleep(min(remaining, POLL_INTERVAL))
        return []

    def interrupt(self, ticket: int) -> Partial:
        """Remove a request and return the sampled part of the turn. Raises InputError for an unknown ticket.

        Of a turn that ended on its server but was not returned by `poll`, the last token is dropped, so that the turn
        can be resumed; resuming samples the same token.
        """
        if ticket not in self._turns:
            raise InputError(
                f"there is no request {ticket} to interrupt: it was never submitted, has ended or was interrupted"
            )
        turn = self._turns.pop(ticket)
        partial = partial_turn(turn.request)
        generated = self._abort(turn)
        if generated is None or not generated.ids:
            return partial
        ended = generated.finish != "abort" or finish_reason(turn.request, generated.ids[-1]) != "length"
        return _concatenate(partial, generated, len(generated.ids) - ended)

    def __len__(self) -> int:
        return len(self._turns)

    def close(self) -> None:
        """Abort every request."""
        turns = list(self._turns.values())
        self._turns.clear()
        self._closed = True
        for turn in turns:
            http = None if turn.server is None else self._servers.http(turn.server)
            if http is not None:
                http.abort(turn.name)
            self._detach(turn)

    # --- turns -------------------------------------------------------------------------------------------------------

    def _image_prompt(self, request: Sample) -> ImagePrompt | None:
        model = self._servers.policy.model
        if model is None or not request.images:
            return None
        ids = [*request.ids, *partial_turn(request).ids]
        try:
            return image_prompt(ids, request.images, model.image_processor)
        except InputError as error:
            raise InputError(f"request {self._tickets} cannot be sampled: {error}") from None

    def _send(self) -> None:
        for turn in self._turns.values():
            if turn.server is not None:
                continue
            ids = [*turn.request.ids, *partial_turn(turn.request).ids]
            server = self._servers.choose(ids)
            http = None if server is None else self._servers.http(server)
            if server is None or http is None:
                return
            turn.server, turn.name = server, f"{uuid.uuid4().hex}-{turn.ticket}"
            policy = self._servers.policy
            turn.future = http.generate(
                turn.request,
                turn.name,
                vocab_size=policy.vocab_size,
                max_length=policy.max_length,
                prompt=turn.prompt,
            )
            self._servers.router.learn(ids, server.number)

    def _collect(self) -> list[tuple[int, Any]]:
        done: list[tuple[int, Any]] = []
        for turn in list(self._turns.values()):
            result = self._result(turn)
            if result is not None:
                del self._turns[turn.ticket]
                done.append((turn.ticket, result))
        return sorted(done, key=lambda pair: pair[0])

    def _result(self, turn: _Turn) -> Completion | InfrastructureError | None:
        """Return the completion or failure of a turn; None before the end."""
        if turn.server is None or turn.future is None:
            return self._check_wait(turn)
        if not turn.future.done():
            if self._servers.http(turn.server) is None:  # its server was lost and may never answer
                self._detach(turn)
            return None
        server, future = turn.server, turn.future
        self._detach(turn)
        try:
            generated = self._checked(future.result())
            if generated.finish == "abort" or not generated.ids:  # not aborted by this stream
                raise ServerLostError(f"a server aborted it after {len(generated.ids)} tokens without a reason")
        except (ServerLostError, concurrent.futures.CancelledError) as error:
            self._servers.report_lost(server, error)
            turn.lost_servers += 1
            if turn.lost_servers < MAX_LOST_SERVERS:
                return None
            return InfrastructureError(
                f"request {turn.ticket}: {turn.lost_servers} servers were lost while sampling it, the last: {error}"
            )
        except (InputError, TrainingError) as error:
            del self._turns[turn.ticket]
            raise type(error)(f"request {turn.ticket}: {error}") from None
        sampled = _concatenate(partial_turn(turn.request), generated, len(generated.ids))
        self._servers.router.learn([*turn.request.ids, *sampled.ids], server.number)
        return make_completion(turn.ticket, turn.request, sampled, time.perf_counter() - turn.start_time)

    def _check_wait(self, turn: _Turn) -> InfrastructureError | None:
        """Return the failure of a turn after too long a wait for a server; None before."""
        failure, waited = self._servers.states.failure(), time.monotonic() - turn.waiting_since
        if failure:
            return InfrastructureError(f"request {turn.ticket}: no server is left. {failure}")
        if waited > self._servers.wait_timeout:
            return InfrastructureError(
                f"request {turn.ticket}: no server was up for {waited:.0f} s. {self._servers.states.down_reasons()}"
            )
        return None

    def _abort(self, turn: _Turn) -> Generated | None:
        """Abort a turn on the server; return the tokens sampled before, None without a server or for a lost server."""
        server, future = turn.server, turn.future
        http = None if server is None else self._servers.http(server)
        if server is None or future is None or http is None:
            self._detach(turn)
            return None
        deadline = time.monotonic() + self._servers.timeout
        try:
            while not future.done():
                http.abort(turn.name)
                concurrent.futures.wait([future], ABORT_INTERVAL)
                if time.monotonic() > deadline:
                    raise ServerLostError(
                        f"request {turn.ticket} was aborted and had not ended after {self._servers.timeout:g} s"
                    )
            return self._checked(future.result())
        except (ServerLostError, concurrent.futures.CancelledError) as error:
            self._servers.report_lost(server, error)
            return None
        finally:
            self._detach(turn)

    def _checked(self, generated: Generated) -> Generated:
        """Generated tokens. Raises ServerLostError for a version of the weights that was never sent."""
        if unknown := set(generated.version) - self._servers.pushed_versions:
            raise ServerLostError(f"a server sampled with weights {sorted(unknown)[:3]}, which were never sent")
        return generated

    def _detach(self, turn: _Turn) -> None:
        """Remove a turn from the server."""
        if turn.future is not None:
            turn.future.cancel()
        if turn.server is not None:
            self._servers.release(turn.server)
        turn.server, turn.future = None, None
        turn.waiting_since = time.monotonic()


def _concatenate(partial: Partial, generated: Generated, count: int) -> Partial:
    """A partial turn followed by the first `count` generated tokens."""
    return Partial(
        [*partial.ids, *generated.ids[:count]],
        [*partial.logp, *generated.logp[:count]],
        [*partial.behaviour_logp, *generated.behaviour_logp[:count]],
        [*partial.version, *generated.version[:count]],
    )
