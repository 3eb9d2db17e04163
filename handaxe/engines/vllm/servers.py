"""vLLM servers that sample for an engine: start or connect, push weights, health checks, restarts, shutdown.

    starting   being started, or not answering yet
    up         answers; samples once it has the current weights
    failed     given up, with a reason

A server that fails in any call is lost: its requests move to other servers, and the server is started again, or awaited
if it was running before. It receives and verifies the current weights before it samples.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from handaxe.core.errors import InfrastructureError, InputError, TrainingError
from handaxe.core.requests import Completion, Sample
from handaxe.engines.vllm.owned_tempdir import OwnedTempdir
from handaxe.engines.vllm.prefix_router import PrefixRouter
from handaxe.engines.vllm.server_process import Launch, RunningServer, ServerProcess, server_options
from handaxe.engines.vllm.vllm_http import HttpLoop, ServerLostError, VllmHttp
from handaxe.engines.vllm.vllm_stream import VllmStream
from handaxe.engines.vllm.weight_transfer import (
    FileTransport,
    ServedPolicy,
    Transport,
    logp_gap,
    probe_row,
    server_logp,
)

__all__ = ["VllmServers"]

HEALTH_INTERVAL = 5.0
"""Seconds between two health checks of a server."""
START_INTERVAL = 0.25
"""Seconds between two checks of a starting server."""
MAX_LOSSES = 3
"""Consecutive losses of a server, without a successful push in between, before it is given up."""
MAX_GAPS = {"float32": 1e-3}
"""Largest gap of the probe by the servers' dtype; 0.5 for other dtypes, which have about 8 bits of precision."""


@dataclass
class _Server:
    """A server. `generation` counts the starts, to tell requests of an earlier start from current requests."""

    number: int
    url: str = ""
    http: VllmHttp | None = None
    running: RunningServer | None = None
    state: Literal["starting", "up", "failed"] = "starting"
    generation: int = 0
    load: int = 0
    label: str = ""
    losses: int = 0
    error: str = ""
    health_check: Future[Any] | None = None
    checked_at: float = field(default_factory=time.monotonic)


class VllmServers:
    """Sampler of a policy by one or more vLLM servers.

        with VllmServers(policy, start_servers=2, write_config=partial(write_config, model.module)) as servers:
            completions = servers.sample(requests)

    Args:
        policy: the sampled policy; see `engines.vllm.weight_transfer.ServedPolicy`.
        servers: addresses of running servers, started with `engines.vllm.server_process.server_options`; `close` leaves
            them running.
        start_servers: number of servers to start, instead of `servers`.
        write_config: writes the model's config.json into a folder; required for started servers. See
            `engines.vllm.weight_transfer.write_config`.
        transport: of the weights; None: `FileTransport()`.
        launch: starts a server on another machine; None: a subprocess of this process.
        dtype: of started servers.
        options: further options of started servers, such as ["--tensor-parallel-size", "2"].
        python: as in `ServerProcess`.
        start_timeout: seconds that a server may take to start.
        timeout: seconds that a call without sampling may take; also the deadline of a health check.
        wait_timeout: seconds that requests wait while no server is up, before they fail.
        request_timeout: seconds that a request may take on a server.
        max_gap: largest difference of the probe's log-probs, in nats; None: 1e-3 for float32, 0.5 for other dtypes.

    Attributes:
        metrics: of the last push: push_seconds, push_gap (of the probe, maximum over servers), push_servers.
        policy, timeout, wait_timeout: as given.
        router: chooses servers by prefix.

    Raises:
        InputError: neither or both of `servers` and `start_servers`, or arguments that do not fit them.
        InfrastructureError: a server does not start; the message has the reason, and no server is left running.
    """

    def __init__(
        self,
        policy: ServedPolicy,
        *,
        servers: Sequence[str] = (),
        start_servers: int = 0,
        write_config: Callable[[Path], object] | None = None,
        transport: Transport | None = None,
        launch: Launch | None = None,
        dtype: str = "float32",
        options: Sequence[str] = (),
        python: str | None = None,
        start_timeout: float = 600.0,
        timeout: float = 60.0,
        wait_timeout: float = 600.0,
        request_timeout: float = 3600.0,
        max_gap: float | None = None,
    ):
        if bool(servers) == bool(start_servers) or start_servers < 0:
            raise InputError("give either the addresses of running servers or the number of servers to start")
        if start_servers and write_config is None:
            raise InputError("started servers need write_config=, which writes the model's config.json")
        self.policy, self.metrics = policy, dict[str, float]()
        self.router = PrefixRouter()
        self._transport = transport or FileTransport()
        self.timeout, self.wait_timeout = timeout, wait_timeout
        self._start_timeout, self._request_timeout = start_timeout, request_timeout
        self._max_gap = MAX_GAPS.get(dtype, 0.5) if max_gap is None else max_gap
        self._stamp: Hashable = None
        self._label, self._pushes = "", 0
        self._engine_logp = list[float]()
        self._lock = threading.RLock()
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []
        self._folder: OwnedTempdir | None = None
        self._loop = HttpLoop()
        self._launch: Launch | None = None
        try:
            if start_servers:
                self._folder = OwnedTempdir("handaxe-server-")
                assert write_config is not None
                write_config(self._folder.path)
                all_options = server_options(dtype=dtype, max_length=policy.max_length, backend=self._transport.backend)
                all_options += options
                self._launch = launch or (lambda number, folder: ServerProcess(folder, all_options, python=python))
            self._servers = [_Server(number) for number in range(start_servers or len(servers))]
            for server in self._servers:
                self._start(server, "" if start_servers else servers[server.number])
            self._await_start()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> VllmServers:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # --- sampling ----------------------------------------------------------------------------------------------------

    def stream(self) -> VllmStream:
        """Open a stream; changed weights are pushed before further sampling."""
        return VllmStream(self)

    def sample(self, requests: Sequence[Sample]) -> list[Completion]:
        """Sample a completion per request, in order. Raises InfrastructureError if a request fails."""
        stream, done = self.stream(), dict[int, Completion]()
        try:
            tickets = [stream.submit(request) for request in requests]
            while len(stream):
                for ticket, completion in stream.poll(HEALTH_INTERVAL):
                    if isinstance(completion, InfrastructureError):
                        raise completion
                    done[ticket] = completion
        finally:
            stream.close()
        return [done[ticket] for ticket in tickets]

    def choose(self, ids: Sequence[int]) -> tuple[int, int] | None:
        """Choose a server for a request and count the request there; return number and generation, or None without a
        ready server."""
        loads = {server.number: server.load for server in self._servers if self._ready(server)}
        if not loads:
            return None
        server = self._servers[self.router.choose(ids, loads)]
        server.load += 1
        return server.number, server.generation

    def release(self, handle: tuple[int, int]) -> None:
        """Count a request as no longer running on a server."""
        server = self._servers[handle[0]]
        if server.generation == handle[1]:
            server.load -= 1

    def http(self, handle: tuple[int, int]) -> VllmHttp | None:
        """Return the client of a server; None after the end of the generation."""
        server = self._servers[handle[0]]
        return server.http if server.generation == handle[1] and server.state == "up" else None

    def report_lost(self, handle: tuple[int, int], error: BaseException) -> None:
        """Report the failure of a server; no effect after the end of the generation."""
        server = self._servers[handle[0]]
        if server.generation == handle[1]:
            self._lose(server, error)

    # --- weights -----------------------------------------------------------------------------------------------------

    def push(self) -> dict[str, float]:
        """Send the current weights to all outdated servers; returns `metrics`.

        Raises:
            TrainingError: the log-probs of an updated server differ from the engine's.
        """
        with self._lock:
            self._check_health()
            stamp = self.policy.stamp()
            start_time = time.monotonic()
            if not self._pushes or stamp != self._stamp:
                tensors = self.policy.gather()
                self._transport.prepare(tensors)
                self._stamp = stamp
                self._pushes += 1
                self._label = f"{self._pushes}.{self.policy.version()}"
                self._engine_logp = []
                self.metrics = {"push_seconds": 0.0, "push_gap": 0.0, "push_servers": 0.0}
                self.router.clear()
            stale = [server for server in self._servers if server.state == "up" and server.label != self._label]
            for server in stale:
                self._update(server)
            if stale:
                self.metrics["push_seconds"] += time.monotonic() - start_time
                self.metrics["push_servers"] = float(sum(map(self._ready, self._servers)))
            return self.metrics

    def _update(self, server: _Server) -> None:
        """Send the current weights to a server; the server is lost after a failure."""
        http = server.http
        assert http is not None
        try:
            http.post("/pause", query={"mode": "keep", "clear_cache": "true"})
            self._transport.send(http, self._label)
            http.post("/resume")
            if (version := http.get("/weight_info")["weight_version"]) != self._label:
                raise ServerLostError(
                    f"the server {server.url} reports weights {version!r} after it was sent {self._label!r}"
                )
            self._verify(server, http)
        except (ServerLostError, InputError) as error:
            self._lose(server, error)
            return
        except BaseException:
            self._lose(server, ServerLostError("interrupted in the middle of an update"))
            raise
        server.label, server.losses = self._label, 0

    def _verify(self, server: _Server, http: VllmHttp) -> None:
        ids = probe_row(self.policy.vocab_size, self.policy.max_length)
        if not self._engine_logp:
            self._engine_logp = list(self.policy.score(ids))
        name = f"probe-{uuid.uuid4().hex}"
        # The deadline is that of a start, because a server may compile at its first request.
        gap = logp_gap(server_logp(http, ids, name, self.policy, self._start_timeout), self._engine_logp)
        self.metrics["push_gap"] = max(self.metrics["push_gap"], gap)
        if gap > self._max_gap:
            raise TrainingError(
                f"after version {self.policy.version()} was sent, log-probs of the server {server.url} differ from the "
                f"engine's: the largest gap of {len(ids) - 1} tokens is {gap:.3g} nats, above max_gap = "
                f"{self._max_gap:g}. The server has other weights, such as an output layer that was not replaced, or "
                "computes in another dtype; sampling stops"
            )

    def _ready(self, server: _Server) -> bool:
        return server.state == "up" and server.label == self._label and self._pushes > 0

    # --- server states -----------------------------------------------------------------------------------------------

    def failure(self) -> str:
        """The errors of all servers if all were given up; else ""."""
        if any(server.state != "failed" for server in self._servers):
            return ""
        return "; ".join(f"server {server.number}: {server.error}" for server in self._servers)

    def down_reasons(self) -> str:
        """Return the last error of each server outside the state "up"."""
        return "; ".join(f"server {s.number}: {s.error or 'starting'}" for s in self._servers if s.state != "up")

    def _check_health(self) -> None:
        """Lose servers with an ended process or a failed health check; start due health checks."""
        now = time.monotonic()
        for server in self._servers:
            if server.state != "up":
                continue
            assert server.http is not None
            if server.running is not None and not server.running.alive():
                self._lose(server, ServerLostError(f"its process has ended: {server.running.tail()}"))
            elif server.health_check is not None and server.health_check.done():
                check, server.health_check = server.health_check, None
                if not check.cancelled() and check.exception() is not None:
                    self._lose(server, check.exception() or ServerLostError(""))
            elif server.health_check is None and now - server.checked_at > HEALTH_INTERVAL:
                server.health_check, server.checked_at = server.http.health(self.timeout), now

    def _lose(self, server: _Server, error: BaseException) -> None:
        """Restart a server in the background, or mark the server as failed."""
        server.error, server.label = str(error), ""
        server.load, server.health_check = 0, None
        server.losses += 1
        server.generation += 1
        server.state = "starting"
        if server.losses > MAX_LOSSES:
            server.state = "failed"
            self._stop(server)
            return
        if not self._closing.is_set():
            self._start(server, "" if self._launch is not None else server.url)

    def _start(self, server: _Server, url: str) -> None:
        thread = threading.Thread(target=self._run_start, args=(server, url), name="handaxe-server", daemon=True)
        self._threads = [started for started in self._threads if started.is_alive()] + [thread]
        thread.start()

    def _run_start(self, server: _Server, url: str) -> None:
        """Start or connect to a server and wait until it answers; runs in a background thread."""
        generation = server.generation
        deadline = time.monotonic() + self._start_timeout
        try:
            self._stop(server)
            if self._launch is not None:
                assert self._folder is not None
                with self._lock:
                    if self._closing.is_set():
                        return
                    server.running = self._launch(server.number, self._folder.path)
                url = server.running.url
            http = VllmHttp(url, self._loop, timeout=self.timeout, request_timeout=self._request_timeout)
            server.url = http.url
            while True:
                with contextlib.suppress(InfrastructureError, InputError):
                    http.get("/health", timeout=self.timeout)
                    break
                if server.running is not None and not server.running.alive():
                    raise InfrastructureError(f"the server ended before it was up: {server.running.tail()}")
                if time.monotonic() > deadline:
                    log = server.running.tail() if server.running is not None else "nothing"
                    raise InfrastructureError(
                        f"the server {url} was not up within {self._start_timeout:g} s (start_timeout): {log}"
                    )
                if self._closing.wait(START_INTERVAL):
                    return
            server.http, server.checked_at = http, time.monotonic()
            if server.generation == generation:
                server.state = "up"
        except Exception as error:  # reported by `failure` and `_await_start`
            server.error = str(error)
            self._stop(server)
            server.state = "failed"

    def _await_start(self) -> None:
        while True:
            states = [server.state for server in self._servers]
            if "failed" in states:
                server = self._servers[states.index("failed")]
                raise InfrastructureError(f"server {server.number} cannot be used: {server.error}")
            if "starting" not in states:
                return
            time.sleep(START_INTERVAL / 5)

    def _stop(self, server: _Server) -> None:
        running, server.running = server.running, None
        if running is not None:
            running.stop()

    def close(self) -> None:
        """Stop started servers and release all resources. Idempotent."""
        self._closing.set()
        with self._lock:
            for server in getattr(self, "_servers", ()):
                self._stop(server)
                server.state, server.generation = "failed", server.generation + 1
                server.error = "it was closed"
        for thread in self._threads:
            thread.join(10)
        for server in getattr(self, "_servers", ()):
            self._stop(server)
        self._transport.close()
        self._loop.close()
        if self._folder is not None:
            self._folder.close()
