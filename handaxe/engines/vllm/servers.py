"""vLLM servers that sample for an engine: requests by prefix, weights, and sleep while the trainer computes.

`engines.vllm.server_states` starts and restarts the servers. A server receives and verifies the current weights before
it samples. Servers that share a GPU with the trainer alternate with it:

    sampling   trainer's cached memory freed  ->  weights woken, sent  ->  KV cache woken  ->  probe  ->  requests
    training   weights and KV cache discarded; running requests wait, and are recomputed after the next sampling phase
"""

from __future__ import annotations

import contextlib
import math
import time
import uuid
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path

from handaxe.core.errors import InfrastructureError, InputError, NonFiniteError, TrainingError
from handaxe.core.requests import Completion, Sample
from handaxe.engines.vllm.owned_tempdir import OwnedTempdir
from handaxe.engines.vllm.prefix_router import PrefixRouter, request_load
from handaxe.engines.vllm.server_process import Launch, ServerProcess, server_options
from handaxe.engines.vllm.server_states import HEALTH_INTERVAL, Placement, ServerStates, VllmServer
from handaxe.engines.vllm.vllm_http import ServerLostError, VllmHttp
from handaxe.engines.vllm.vllm_stream import VllmStream
from handaxe.engines.vllm.weight_transfer import (
    FileTransport,
    ProbedRow,
    ServedPolicy,
    Transport,
    image_probe,
    logp_gap,
    probe_row,
    server_logp,
)

__all__ = ["VllmServers"]

MAX_IMAGES = 256
"""Most images of a request to a started server."""
MAX_GAPS = {"float32": 1e-3}
"""Largest gap of the probe by the servers' dtype; 0.5 for other dtypes, which have about 8 bits of precision."""


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
        free_trainer_memory: given, the servers share the GPU with the trainer: `sleep` frees their memory, and this
            function is called before they wake, to free the trainer's cached memory. Running servers need vLLM's option
            --enable-sleep-mode.

    Attributes:
        metrics: of the last push: push_seconds, push_gap (of the probe, maximum over servers), push_image_gap (of a
            probe with an image, for a model with vision), push_servers.
        policy, timeout, wait_timeout: as given.
        pushed_versions: all versions of the weights that were sent.
        router: chooses servers by prefix.
        states: the servers, with their states.

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
        free_trainer_memory: Callable[[], object] | None = None,
    ):
        if bool(servers) == bool(start_servers) or start_servers < 0:
            raise InputError("give either the addresses of running servers or the number of servers to start")
        if start_servers and write_config is None:
            raise InputError("started servers need write_config=, which writes the model's config.json")
        self.policy, self.metrics = policy, dict[str, float]()
        self.router = PrefixRouter()
        self._transport = transport or FileTransport()
        self.timeout, self.wait_timeout = timeout, wait_timeout
        self._start_timeout = start_timeout
        self._max_gap = MAX_GAPS.get(dtype, 0.5) if max_gap is None else max_gap
        self._free_trainer_memory = free_trainer_memory
        self._stamp: Hashable = None
        self._label, self._pushes = "", 0
        self.pushed_versions = set[int]()
        self._probes = dict[str, tuple[ProbedRow, list[float]]]()
        self._folder: OwnedTempdir | None = None
        try:
            if start_servers:
                self._folder = OwnedTempdir("handaxe-server-")
                assert write_config is not None
                write_config(self._folder.path)
                images = 0 if policy.model is None else MAX_IMAGES
                backend = self._transport.backend
                all_options = server_options(dtype=dtype, max_length=policy.max_length, backend=backend, images=images)
                all_options += options
                launch = launch or (lambda number, folder: ServerProcess(folder, all_options, python=python))
            self.states = ServerStates(
                servers,
                count=start_servers or len(servers),
                launch=launch if start_servers else None,
                folder=None if self._folder is None else self._folder.path,
                start_timeout=start_timeout,
                timeout=timeout,
                request_timeout=request_timeout,
            )
        except BaseException:
            self._release()
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

    def choose(self, ids: Sequence[int]) -> Placement | None:
        """Choose a server for a request and count the request there; None without a ready server."""
        loads = {server.number: server.load for server in self.states.servers if self._ready(server)}
        if not loads:
            return None
        server = self.states.servers[self.router.choose(ids, loads)]
        load = request_load(ids)
        server.load += load
        return Placement(server.number, server.generation, load)

    def release(self, placed: Placement) -> None:
        """Count a request as no longer running on a server."""
        server = self.states.servers[placed.number]
        if server.generation == placed.generation:
            server.load -= placed.load

    def http(self, placed: Placement) -> VllmHttp | None:
        """Return the client of a server; None after the end of the generation."""
        server = self.states.servers[placed.number]
        return server.http if server.generation == placed.generation and server.state == "up" else None

    def report_lost(self, placed: Placement, error: BaseException) -> None:
        """Report the failure of a server; no effect after the end of the generation."""
        server = self.states.servers[placed.number]
        if server.generation == placed.generation:
            self.states.lose(server, error)

    # --- weights -----------------------------------------------------------------------------------------------------

    def push(self) -> dict[str, float]:
        """Send the current weights to all outdated servers; returns `metrics`.

        Raises:
            TrainingError: the log-probs of an updated server differ from the engine's.
        """
        with self.states.lock:
            self.states.check_health()
            stamp = self.policy.stamp()
            start_time = time.monotonic()
            if not self._pushes or stamp != self._stamp:
                self._prepare(stamp)
            stale = [server for server in self.states.servers if server.state == "up" and server.label != self._label]
            if stale and self._free_trainer_memory is not None:
                self._free_trainer_memory()
            for server in stale:
                self._update(server)
            if stale:
                self.metrics["push_seconds"] += time.monotonic() - start_time
                self.metrics["push_servers"] = float(sum(map(self._ready, self.states.servers)))
            return self.metrics

    def sleep(self) -> None:
        """Free the GPU memory of servers that share the GPU with the trainer; without effect on other servers and on
        sleeping servers. The next `push` wakes them."""
        if self._free_trainer_memory is None:
            return
        with self.states.lock:
            for server in self.states.servers:
                if server.state == "up" and not server.asleep:
                    try:
                        self._put_to_sleep(server)
                    except (ServerLostError, InputError) as error:
                        self.states.lose(server, error)

    def _put_to_sleep(self, server: VllmServer) -> None:
        assert server.http is not None
        server.label = ""
        server.http.post("/sleep", query={"level": "2", "mode": "keep"})
        server.asleep = True

    def _prepare(self, stamp: Hashable) -> None:
        """Gather new weights, and measure the probe before any server wakes."""
        self._transport.prepare(self.policy.gather())
        probes = {"push_gap": ProbedRow(probe_row(self.policy.vocab_size, self.policy.max_length))}
        if (seen := image_probe(self.policy)) is not None:
            probes["push_image_gap"] = seen
        measured = {name: (probe, list(self.policy.score(*probe))) for name, probe in probes.items()}
        if not all(math.isfinite(value) for _, logp in measured.values() for value in logp):
            raise NonFiniteError(
                f"log-probs of the policy, version {self.policy.version()}, are not finite, so that its weights are "
                "damaged; load an earlier checkpoint"
            )
        self._stamp, self._probes = stamp, measured
        self._pushes += 1
        self._label = f"{self._pushes}.{self.policy.version()}"
        self.pushed_versions.add(self.policy.version())
        self.metrics = {"push_seconds": 0.0, **dict.fromkeys(measured, 0.0), "push_servers": 0.0}
        self.router.clear()

    def _update(self, server: VllmServer) -> None:
        """Send the current weights to a server; the server is lost after a failure."""
        http = server.http
        assert http is not None
        try:
            if self._free_trainer_memory is None:
                http.post("/pause", query={"mode": "keep", "clear_cache": "true"})
                self._transport.send(http, self._label)
                http.post("/resume")
            else:
                if not server.asleep:
                    self._put_to_sleep(server)
                # The KV cache wakes after the weights arrived, so that it takes no memory during their transfer.
                http.post("/wake_up", query={"tags": "weights"})
                self._transport.send(http, self._label)
                http.post("/wake_up", query={"tags": "kv_cache"})
                server.asleep = False
            http.sent_images.clear()  # the server has cleared its caches of images, too
            info = http.get("/weight_info")
            version = info.get("weight_version") if isinstance(info, dict) else info
            if version != self._label:
                raise ServerLostError(
                    f"the server {server.url} reports weights {version!r:.80} after it was sent {self._label!r}"
                )
            self._verify(server, http)
        except (ServerLostError, InputError) as error:
            self.states.lose(server, error)
            return
        except BaseException:
            self.states.lose(server, ServerLostError("interrupted in the middle of an update"))
            raise
        server.label, server.losses = self._label, 0

    def _verify(self, server: VllmServer, http: VllmHttp) -> None:
        for metric, (probe, engine_logp) in self._probes.items():
            name = f"probe-{uuid.uuid4().hex}"
            # The deadline is that of a start, because a server may compile at its first request.
            gap = logp_gap(server_logp(http, probe, name, self.policy, self._start_timeout), engine_logp)
            self.metrics[metric] = max(self.metrics[metric], gap)
            if gap > self._max_gap:
                row = "tokens after an image" if probe.images else "tokens"
                raise TrainingError(
                    f"after version {self.policy.version()} was sent, log-probs of the server {server.url} differ from "
                    f"the engine's: the largest gap of {len(engine_logp)} {row} is {gap:.3g} nats, above max_gap = "
                    f"{self._max_gap:g}. The server has other weights, such as an output layer that was not replaced, "
                    "or computes in another dtype; sampling stops"
                )

    def _ready(self, server: VllmServer) -> bool:
        return server.state == "up" and server.label == self._label and self._pushes > 0

    def close(self) -> None:
        """Stop started servers, wake sleeping servers that keep running, and release all resources. Idempotent."""
        for server in self.states.servers:
            if server.asleep and server.running is None and server.http is not None and server.state == "up":
                with contextlib.suppress(ServerLostError, InputError):
                    server.http.post("/wake_up")
        self.states.close()
        self._release()

    def _release(self) -> None:
        self._transport.close()
        if self._folder is not None:
            self._folder.close()
