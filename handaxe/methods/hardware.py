"""Where a run computes: in this process, or on ranks and servers. No part of what was chosen, which is the same."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.model_api import Model
from handaxe.core.protocols import Engine
from handaxe.engines.cluster.engine import ClusterEngine
from handaxe.engines.local.engine import LocalEngine

__all__ = ["HERE", "Machines", "closing_engine", "make_engine"]


@dataclass(frozen=True)
class Machines:
    """How many processes work together; none besides this one unless told otherwise.

    Args:
        trainers: ranks that the model is split over; 0 computes in this process.
        servers: addresses of vLLM servers that sample, or one number: how many to start.
        server_options: of vLLM, for servers that are started, such as --server-options="--gpu-memory-utilization 0.5".
        ray: address of a Ray cluster that places the ranks, or "local"; without it they are processes of this machine.
    """

    trainers: int = 0
    servers: tuple[str, ...] = ()
    server_options: str = ""
    ray: str = ""

    def __bool__(self) -> bool:
        return bool(self.trainers or self.start_servers or self.addresses)

    @property
    def start_servers(self) -> int:
        """How many servers to start."""
        return int(self.servers[0]) if len(self.servers) == 1 and self.servers[0].isdecimal() else 0

    @property
    def addresses(self) -> tuple[str, ...]:
        """Of servers that run."""
        return () if len(self.servers) == 1 and self.servers[0].isdecimal() else self.servers

    def check(self) -> None:
        """Raise InputError for what does not fit together."""
        if self.trainers < 0:
            raise InputError(f"--trainers {self.trainers}: give a number of ranks, or 0 for this process")
        if wrong := [one for one in self.addresses if "://" not in one]:
            raise InputError(f"--servers {wrong[0]}: give addresses such as http://10.0.0.5:8000, or how many to start")
        if self.server_options and not self.start_servers:
            raise InputError("--server-options are for servers that are started, and there are none: --servers 1")
        if self.ray and not self:
            raise InputError("--ray places ranks, and there are none: say how many, --trainers N")


HERE = Machines()


def make_engine(
    make: Callable[..., Any],
    model: Model,
    machines: Machines,
    options: Mapping[str, Any],
    *,
    load: Callable[[], Any] | None = None,
) -> Engine:
    """The engine that a run was told to use.

    Args:
        make: what was chosen for one process, such as LocalEngine.
        model: for it.
        options: of it.
        load: makes the model in the process of rank 0; None sends `model` there.

    Raises:
        InputError: something else than LocalEngine on several processes, or what the engine raises.
    """
    machines.check()
    if not machines:
        return make(model, **options)
    if make is not LocalEngine:
        raise InputError("--trainers and --servers take the place of LocalEngine alone: leave out --engine")
    return ClusterEngine(
        model if load is None else load,
        trainers=max(machines.trainers, 1),
        servers=machines.addresses,
        start_servers=machines.start_servers,
        server_options=shlex.split(machines.server_options),
        address=machines.ray or None,
        **options,
    )


@contextmanager
def closing_engine(engine: Any) -> Iterator[None]:
    """Close an engine that has something to close, whatever happens meanwhile."""
    try:
        yield
    finally:
        if hasattr(engine, "close"):
            engine.close()
