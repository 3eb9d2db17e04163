"""Processes of a run: the current process, or trainer ranks and vLLM servers.

Machines are no part of a `RunSpec`: the same run may be resumed on other machines.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from handaxe import engines
from handaxe.core.errors import InputError
from handaxe.core.model_api import Model
from handaxe.core.protocols import Engine

__all__ = ["Machines", "THIS_PROCESS", "closing_engine", "make_engine"]


@dataclass(frozen=True)
class Machines:
    """Trainer ranks and vLLM servers of a run. By default the current process computes alone.

    Args:
        trainers: number of ranks to shard the model over; 0 trains in this process.
        servers: addresses of running vLLM servers that sample, or the number of servers to start, or "colocated": one
            started server that shares the GPU with the ranks, asleep while they compute.
        server_options: options of vLLM for started servers, such as --server-options="--gpu-memory-utilization 0.5".
        ray: address of a Ray cluster that places the ranks, or "local"; "" starts the ranks as processes of this
            machine.
    """

    trainers: int = 0
    servers: tuple[str, ...] = ()
    server_options: str = ""
    ray: str = ""

    def __bool__(self) -> bool:
        return bool(self.trainers or self.start_servers or self.addresses)

    @property
    def start_servers(self) -> int:
        """Number of servers to start."""
        if self.colocated:
            return 1
        return int(self.servers[0]) if len(self.servers) == 1 and self.servers[0].isdecimal() else 0

    @property
    def addresses(self) -> tuple[str, ...]:
        """Addresses of running servers."""
        return () if self.colocated or (len(self.servers) == 1 and self.servers[0].isdecimal()) else self.servers

    @property
    def colocated(self) -> bool:
        """True for a started server on the GPU of the ranks."""
        return self.servers == ("colocated",)

    def check(self) -> None:
        """Raise InputError if the fields contradict each other."""
        if self.trainers < 0:
            raise InputError(f"--trainers {self.trainers}: give a number of ranks, or 0 for this process")
        if wrong := [one for one in self.addresses if "://" not in one]:
            raise InputError(
                f"--servers {wrong[0]}: give addresses such as http://10.0.0.5:8000, the number of servers to start, "
                "or colocated"
            )
        if self.server_options and not self.start_servers:
            raise InputError("--server-options need servers to start, and there are none: add --servers 1")
        if self.colocated and self.ray:
            raise InputError("--servers colocated is a server on this machine, with the ranks: leave --ray out")
        if self.ray and not self:
            raise InputError("--ray places ranks, and there are none: add --trainers N")


THIS_PROCESS = Machines()


def make_engine(
    make: Callable[..., Any],
    model: Model,
    machines: Machines,
    options: Mapping[str, Any],
    *,
    load: Callable[[], Any] | None = None,
) -> Engine:
    """Make the engine of a run.

    Args:
        make: engine class for one process, such as LocalEngine.
        model: of the engine.
        options: keyword arguments of the engine.
        load: loads the model in the process of rank 0; None sends `model` to rank 0.

    Raises:
        InputError: several processes with another class than LocalEngine, or an error of the engine.
    """
    machines.check()
    if not machines:
        return make(model, **options)
    if make is not engines.LocalEngine:
        raise InputError("--trainers and --servers replace LocalEngine only: leave --engine out")
    return engines.ClusterEngine(
        model if load is None else load,
        trainers=max(machines.trainers, 1),
        servers=machines.addresses,
        start_servers=machines.start_servers,
        server_options=shlex.split(machines.server_options),
        colocate=machines.colocated,
        address=machines.ray or None,
        **options,
    )


@contextmanager
def closing_engine(engine: Any) -> Iterator[None]:
    """Close an engine with `close` on exit, also after an error."""
    try:
        yield
    finally:
        if hasattr(engine, "close"):
            engine.close()
