"""States of vLLM servers: start or connect, health checks, restarts, shutdown.

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
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.engines.vllm.server_process import Launch, RunningServer
from handaxe.engines.vllm.vllm_http import ServerLostError, VllmHttp
from handaxe.tools.web.http_loop import HttpLoop

__all__ = ["Placement", "ServerStates", "VllmServer"]

HEALTH_INTERVAL = 5.0
"""Seconds between two health checks of a server."""
START_INTERVAL = 0.25
"""Seconds between two checks of a starting server."""
MAX_LOSSES = 3
"""Consecutive losses of a server, without a successful push in between, before it is given up."""


class Placement(NamedTuple):
    """Place of a request: number and generation of the server, and the load that the request adds there."""

    number: int
    generation: int
    load: int


@dataclass
class VllmServer:
    """A server. `generation` counts the starts, to tell requests of an earlier start from current requests; `load` is
    the sum over running requests (`prefix_router.request_load`); `label` names the server's weights, ""
    for no or unknown weights."""

    number: int
    url: str = ""
    http: VllmHttp | None = None
    running: RunningServer | None = None
    state: Literal["starting", "up", "failed"] = "starting"
    generation: int = 0
    load: int = 0
    label: str = ""
    asleep: bool = False
    losses: int = 0
    error: str = ""
    health_check: Future[Any] | None = None
    checked_at: float = field(default_factory=time.monotonic)


class ServerStates:
    """Servers with their states; a restart runs in a background thread.

    Args:
        urls: addresses of running servers; empty for started servers.
        count: number of servers.
        launch: starts a server; None for running servers.
        folder: of the model's config.json, for started servers.
        start_timeout: seconds that a server may take to start.
        timeout: seconds that a call without sampling may take; also the deadline of a health check.
        request_timeout: seconds that a request may take on a server.

    Attributes:
        servers: in order of number.
        lock: held while weights are sent; a restart takes it to start a process.
    """

    def __init__(
        self,
        urls: Sequence[str],
        *,
        count: int,
        launch: Launch | None,
        folder: Path | None,
        start_timeout: float,
        timeout: float,
        request_timeout: float,
    ):
        self._launch, self._folder = launch, folder
        self._start_timeout = start_timeout
        self._timeout, self._request_timeout = timeout, request_timeout
        self.lock = threading.RLock()
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []
        self._loop = HttpLoop()
        self.servers = [VllmServer(number) for number in range(count)]
        try:
            for server in self.servers:
                self._start(server, urls[server.number] if urls else "")
            self._await_start()
        except BaseException:
            self.close()
            raise

    def failure(self) -> str:
        """The errors of all servers if all were given up; else ""."""
        if any(server.state != "failed" for server in self.servers):
            return ""
        return "; ".join(f"server {server.number}: {server.error}" for server in self.servers)

    def down_reasons(self) -> str:
        """Return the last error of each server outside the state "up"."""
        return "; ".join(f"server {s.number}: {s.error or 'starting'}" for s in self.servers if s.state != "up")

    def check_health(self) -> None:
        """Lose servers with an ended process or a failed health check; start due health checks."""
        now = time.monotonic()
        for server in self.servers:
            if server.state != "up":
                continue
            assert server.http is not None
            if server.running is not None and not server.running.alive():
                self.lose(server, ServerLostError(f"its process has ended: {server.running.tail()}"))
            elif server.health_check is not None and server.health_check.done():
                check, server.health_check = server.health_check, None
                if not check.cancelled() and check.exception() is not None:
                    self.lose(server, check.exception() or ServerLostError(""))
            elif server.health_check is None and now - server.checked_at > HEALTH_INTERVAL:
                server.health_check, server.checked_at = server.http.health(self._timeout), now

    def lose(self, server: VllmServer, error: BaseException) -> None:
        """Restart a server in the background, or mark the server as failed."""
        server.error, server.label = str(error), ""
        server.load, server.health_check = 0, None
        server.asleep = False
        server.losses += 1
        server.generation += 1
        server.state = "starting"
        if server.losses > MAX_LOSSES:
            server.state = "failed"
            self._stop(server)
            return
        if not self._closing.is_set():
            self._start(server, "" if self._launch is not None else server.url)

    def _start(self, server: VllmServer, url: str) -> None:
        thread = threading.Thread(target=self._run_start, args=(server, url), name="handaxe-server", daemon=True)
        self._threads = [started for started in self._threads if started.is_alive()] + [thread]
        thread.start()

    def _run_start(self, server: VllmServer, url: str) -> None:
        """Start or connect to a server and wait until it answers; runs in a background thread."""
        generation = server.generation
        deadline = time.monotonic() + self._start_timeout
        try:
            self._stop(server)
            if self._launch is not None:
                assert self._folder is not None
                with self.lock:
                    if self._closing.is_set():
                        return
                    server.running = self._launch(server.number, self._folder)
                url = server.running.url
            http = VllmHttp(url, self._loop, timeout=self._timeout, request_timeout=self._request_timeout)
            server.url = http.url
            while True:
                with contextlib.suppress(InfrastructureError, InputError):
                    http.get("/health", timeout=self._timeout)
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
            states = [server.state for server in self.servers]
            if "failed" in states:
                server = self.servers[states.index("failed")]
                raise InfrastructureError(f"server {server.number} cannot be used: {server.error}")
            if "starting" not in states:
                return
            time.sleep(START_INTERVAL / 5)

    def _stop(self, server: VllmServer) -> None:
        running, server.running = server.running, None
        if running is not None:
            running.stop()

    def close(self) -> None:
        """Stop started servers and release all resources. Idempotent."""
        self._closing.set()
        with self.lock:
            for server in self.servers:
                self._stop(server)
                server.state, server.generation = "failed", server.generation + 1
                server.error = "it was closed"
        for thread in self._threads:
            thread.join(10)
        for server in self.servers:
            self._stop(server)
        self._loop.close()
