"""vLLM servers that sample for an engine: started or found, given its weights, watched, restarted, and ended.

    coming   being started, or waited for
    up       answers; sampled from once it has the weights of now
    gone     given up, with the reason

A server that fails at anything is lost: what it had under way goes elsewhere, and it is started again, or waited for
where it was found running. Before it is asked anything it gets the weights of now, and has to prove them.
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
from handaxe.engines.vllm.http import HttpLoop, LostError, VllmHttp
from handaxe.engines.vllm.owned_tempdir import OwnedTempdir
from handaxe.engines.vllm.prefix_router import PrefixRouter
from handaxe.engines.vllm.process import Launch, Running, ServerProcess, server_options
from handaxe.engines.vllm.stream import VllmStream
from handaxe.engines.vllm.weights import FileTransport, ServedPolicy, Transport, gap, probe_row, server_logp

__all__ = ["VllmServers"]

PULSE = 5.0
"""Seconds between two looks at whether a server is well."""
LOOK = 0.25
"""Seconds between two looks at a server that is coming."""
TRIES = 3
"""Times in a row that a server may be lost, without a push in between that succeeded, before it is given up."""
GAPS = {"float32": 1e-3}
"""Largest gap of the probe by the servers' dtype; for any other, which rounds to 8 bits or so, 0.5."""


@dataclass
class _Server:
    """One server. `life` counts how often it was begun, so that what an earlier life had under way is told apart."""

    number: int
    url: str = ""
    http: VllmHttp | None = None
    running: Running | None = None
    state: Literal["coming", "up", "gone"] = "coming"
    life: int = 0
    load: int = 0
    label: str = ""
    losses: int = 0
    error: str = ""
    look: Future[Any] | None = None
    looked: float = field(default_factory=time.monotonic)


class VllmServers:
    """Sample by vLLM servers what a policy would sample itself.

        with VllmServers(policy, start_servers=2, write_config=partial(write_config, model.module)) as servers:
            completions = servers.sample(requests)

    Args:
        policy: what is sampled; see `engines.vllm.weights.ServedPolicy`.
        servers: addresses of running ones, started with `engines.vllm.process.server_options`. They are not ended.
        start_servers: or how many to start.
        write_config: writes the model's config.json into the folder it is given; for servers that are started. See
            `engines.vllm.weights.write_config`.
        transport: how weights travel; None: `FileTransport()`.
        launch: starts a server elsewhere; None: a subprocess here.
        dtype: of the servers that are started.
        options: further options of servers that are started, such as ["--tensor-parallel-size", "2"].
        python: as of `ServerProcess`.
        start_timeout: seconds a server may take to come up.
        timeout: seconds of a call that does not sample; also how long a server may be silent.
        patience: seconds that requests wait when no server is up, before they fail.
        longest: seconds a request may take on a server.
        most_gap: largest difference of the probe's log-probs, in nats; None: 1e-3 for float32, 0.5 for other dtypes.

    Attributes:
        metrics: of the last push: push_seconds, push_gap (the probe's, over all servers), push_servers.
        policy, timeout, patience: as given.
        places: which server has which ids.

    Raises:
        InputError: neither or both of `servers` and `start_servers`, or something that does not fit them.
        InfrastructureError: a server does not come up; it says why, and nothing is left running.
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
        patience: float = 600.0,
        longest: float = 3600.0,
        most_gap: float | None = None,
    ):
        if bool(servers) == bool(start_servers) or start_servers < 0:
            raise InputError("give either the addresses of running servers or how many to start")
        if start_servers and write_config is None:
            raise InputError("servers that are started need write_config=, which writes the model's config.json")
        self.policy, self.metrics = policy, dict[str, float]()
        self.places = PrefixRouter()
        self._transport = transport or FileTransport()
        self.timeout, self.patience = timeout, patience
        self._start_timeout, self._longest = start_timeout, longest
        self._most_gap = GAPS.get(dtype, 0.5) if most_gap is None else most_gap
        self._mark: Hashable = None
        self._label, self._pushes = "", 0
        self._known = list[float]()
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
                said = server_options(dtype=dtype, max_length=policy.max_length, backend=self._transport.backend)
                said += options
                self._launch = launch or (lambda number, folder: ServerProcess(folder, said, python=python))
            self._servers = [_Server(number) for number in range(start_servers or len(servers))]
            for server in self._servers:
                self._begin(server, "" if start_servers else servers[server.number])
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
        """A new stream; weights are pushed by itself when they have changed, before anything more is sampled."""
        return VllmStream(self)

    def sample(self, requests: Sequence[Sample]) -> list[Completion]:
        """One completion a request, in order. Raises InfrastructureError when one got none."""
        stream, done = self.stream(), dict[int, Completion]()
        try:
            tickets = [stream.submit(request) for request in requests]
            while len(stream):
                for ticket, completion in stream.poll(PULSE):
                    if isinstance(completion, InfrastructureError):
                        raise completion
                    done[ticket] = completion
        finally:
            stream.close()
        return [done[ticket] for ticket in tickets]

    def choose(self, ids: Sequence[int]) -> tuple[int, int] | None:
        """The number and the life of the server for these ids; None while there is none. It counts as at work."""
        loads = {server.number: server.load for server in self._servers if self._ready(server)}
        if not loads:
            return None
        server = self._servers[self.places.choose(ids, loads)]
        server.load += 1
        return server.number, server.life

    def leave(self, place: tuple[int, int]) -> None:
        """A request is no longer at work there."""
        server = self._servers[place[0]]
        if server.life == place[1]:
            server.load -= 1

    def http(self, place: tuple[int, int]) -> VllmHttp | None:
        """How to speak to a server; None when that life of it is over."""
        server = self._servers[place[0]]
        return server.http if server.life == place[1] and server.state == "up" else None

    def lost(self, place: tuple[int, int], error: BaseException) -> None:
        """Something failed on a server; nothing to be done when that life of it is over."""
        server = self._servers[place[0]]
        if server.life == place[1]:
            self._lose(server, error)

    # --- weights -----------------------------------------------------------------------------------------------------

    def push(self) -> dict[str, float]:
        """See that every server that is up has the weights of now; `metrics`.

        Raises:
            TrainingError: a server that has taken the weights says other log-probs than the engine.
        """
        with self._lock:
            self._look()
            mark = self.policy.mark()
            began = time.monotonic()
            if not self._pushes or mark != self._mark:
                tensors = self.policy.gather()
                self._transport.prepare(tensors)
                self._mark = mark
                self._pushes += 1
                self._label = f"{self._pushes}.{self.policy.version()}"
                self._known = []
                self.metrics = {"push_seconds": 0.0, "push_gap": 0.0, "push_servers": 0.0}
                self.places.forget()
            stale = [server for server in self._servers if server.state == "up" and server.label != self._label]
            for server in stale:
                self._give(server)
            if stale:
                self.metrics["push_seconds"] += time.monotonic() - began
                self.metrics["push_servers"] = float(sum(map(self._ready, self._servers)))
            return self.metrics

    def _give(self, server: _Server) -> None:
        """The weights of now to one server; lost when anything of it fails."""
        http = server.http
        assert http is not None
        try:
            http.post("/pause", query={"mode": "keep", "clear_cache": "true"})
            self._transport.send(http, self._label)
            http.post("/resume")
            if (said := http.get("/weight_info")["weight_version"]) != self._label:
                raise LostError(
                    f"the server {server.url} says its weights are {said!r}, and it was sent {self._label!r}"
                )
            self._prove(server, http)
        except (LostError, InputError) as error:
            self._lose(server, error)
            return
        except BaseException:
            self._lose(server, LostError("interrupted in the middle of an update"))
            raise
        server.label, server.losses = self._label, 0

    def _prove(self, server: _Server, http: VllmHttp) -> None:
        ids = probe_row(self.policy.vocab_size, self.policy.max_length)
        if not self._known:
            self._known = list(self.policy.score(ids))
        name = f"probe-{uuid.uuid4().hex}"
        # As long as a start may take: what a server has to compile, it compiles for its first request.
        found = gap(server_logp(http, ids, name, self.policy, self._start_timeout), self._known)
        self.metrics["push_gap"] = max(self.metrics["push_gap"], found)
        if found > self._most_gap:
            raise TrainingError(
                f"after version {self.policy.version()} was sent, the server {server.url} says other log-probs than "
                f"the engine: the largest gap of {len(ids) - 1} tokens is {found:.3g} nats, and {self._most_gap:g} is "
                "allowed (most_gap). It samples from other weights, such as an output layer that was not replaced, or "
                "computes in another dtype; nothing more is sampled"
            )

    def _ready(self, server: _Server) -> bool:
        return server.state == "up" and server.label == self._label and self._pushes > 0

    # --- lives -------------------------------------------------------------------------------------------------------

    def waiting(self) -> str:
        """ "" while a server is up or may come yet; else why there is none."""
        if any(server.state != "gone" for server in self._servers):
            return ""
        return "; ".join(f"server {server.number}: {server.error}" for server in self._servers)

    def reasons(self) -> str:
        """Why the servers that are not up are not."""
        return "; ".join(
            f"server {s.number}: {s.error or 'it is being started'}" for s in self._servers if s.state != "up"
        )

    def _look(self) -> None:
        """Lose the servers whose process is gone, or that have not said for too long that they are well."""
        now = time.monotonic()
        for server in self._servers:
            if server.state != "up":
                continue
            assert server.http is not None
            if server.running is not None and not server.running.alive():
                self._lose(server, LostError(f"its process has ended: {server.running.tail()}"))
            elif server.look is not None and server.look.done():
                look, server.look = server.look, None
                if not look.cancelled() and look.exception() is not None:
                    self._lose(server, look.exception() or LostError(""))
            elif server.look is None and now - server.looked > PULSE:
                server.look, server.looked = server.http.health(self.timeout), now

    def _lose(self, server: _Server, error: BaseException) -> None:
        """Begin a server again, in the background; or give it up."""
        server.error, server.label = str(error), ""
        server.load, server.look = 0, None
        server.losses += 1
        server.life += 1
        server.state = "coming"
        if server.losses > TRIES:
            server.state = "gone"
            self._stop(server)
            return
        if not self._closing.is_set():
            self._begin(server, "" if self._launch is not None else server.url)

    def _begin(self, server: _Server, url: str) -> None:
        thread = threading.Thread(target=self._come, args=(server, url), name="handaxe-server", daemon=True)
        self._threads = [thread_ for thread_ in self._threads if thread_.is_alive()] + [thread]
        thread.start()

    def _come(self, server: _Server, url: str) -> None:
        """Start a server, or find it, and wait until it answers. Runs in a thread of its own."""
        life = server.life
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
            http = VllmHttp(url, self._loop, timeout=self.timeout, patience=self._longest)
            server.url = http.url
            while True:
                with contextlib.suppress(InfrastructureError, InputError):
                    http.get("/health", timeout=self.timeout)
                    break
                if server.running is not None and not server.running.alive():
                    raise InfrastructureError(f"the server ended before it was up: {server.running.tail()}")
                if time.monotonic() > deadline:
                    said = server.running.tail() if server.running is not None else "nothing"
                    raise InfrastructureError(
                        f"the server {url} was not up within {self._start_timeout:g} s (start_timeout): {said}"
                    )
                if self._closing.wait(LOOK):
                    return
            server.http, server.looked = http, time.monotonic()
            if server.life == life:
                server.state = "up"
        except Exception as error:  # said by `waiting` and by what waits for the start
            server.error = str(error)
            self._stop(server)
            server.state = "gone"

    def _await_start(self) -> None:
        while True:
            states = [server.state for server in self._servers]
            if "gone" in states:
                server = self._servers[states.index("gone")]
                raise InfrastructureError(f"server {server.number} cannot be used: {server.error}")
            if "coming" not in states:
                return
            time.sleep(LOOK / 5)

    def _stop(self, server: _Server) -> None:
        running, server.running = server.running, None
        if running is not None:
            running.stop()

    def close(self) -> None:
        """End the servers that were started, and everything else. Called again, it does nothing."""
        self._closing.set()
        with self._lock:
            for server in getattr(self, "_servers", ()):
                self._stop(server)
                server.state, server.life = "gone", server.life + 1
                server.error = "it was closed"
        for thread in self._threads:
            thread.join(10)
        for server in getattr(self, "_servers", ()):
            self._stop(server)
        self._transport.close()
        self._loop.close()
        if self._folder is not None:
            self._folder.close()
