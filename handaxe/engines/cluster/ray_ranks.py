"""Ranks as Ray actors, on any number of machines."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.engines.cluster.pipe_ranks import RankDiedError
from handaxe.engines.cluster.rank_process import RankProcess

__all__ = ["HERE", "RayRanks", "start_ray"]

HERE = "local"
"""Address of a cluster on this machine only, started by this process."""
PLACEMENT_TIMEOUT = 30.0
"""Seconds that a cluster may take to place the ranks."""
KILL_TIMEOUT = 5.0
"""Seconds that a killed process may take to end."""


def start_ray(address: str, *, cpus: int = 0) -> bool:
    """Connect this process to Ray, once; True if a cluster was started.

    Args:
        address: of the head of a cluster ("HOST:6379", "auto"); "local" starts a cluster on this machine, which listens
            on the loopback address only and ends with this process.
        cpus: number of tasks to run at the same time on a local cluster, even with fewer cores.

    Raises:
        InputError: the extra is missing, or there is no cluster at the address.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # disables Ray's usage statistics
    try:
        import ray
    except ImportError as error:
        raise InputError(f'--ray needs Ray; install it with: pip install "handaxe[cluster]" ({error})') from error
    if ray.is_initialized():
        return False
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == HERE:
        _start_local(max(os.cpu_count() or 1, cpus), quiet)
        return True
    try:
        _check_reachable(address)
        ray.init(address, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise InputError(f"there is no Ray cluster at {address}: {error}") from error
    return False


def _check_reachable(address: str) -> None:
    """Raise ConnectionError if no process listens at the address; Ray would retry for minutes."""
    host, _, port = address.rpartition("//")[2].rpartition(":")
    if host and port.isdecimal():
        try:
            socket.create_connection((host, int(port)), timeout=30).close()
        except (OSError, OverflowError) as error:
            raise ConnectionError(str(error)) from error


def _start_local(cores: int, quiet: Mapping[str, Any]) -> None:
    """Start Ray on this machine, in up to three attempts: Ray gives up after 30 seconds, too early on a busy
    machine."""
    import ray

    config = {"prestart_worker_first_driver": False, "enable_metrics_collection": False}
    for remaining in (2, 1, 0):
        try:
            ray.init(
                HERE,
                num_cpus=cores,
                include_dashboard=False,
                _node_ip_address="127.0.0.1",
                _system_config=config,
                **quiet,
            )
            return
        except Exception as error:  # Ray has no specific exception
            ray.shutdown()
            if "timed out during startup" not in str(error) or not remaining:
                raise InputError(f"Ray does not start on this machine: {error}") from error


class RayRanks:
    """Actors of a Ray cluster, one per rank; see `Ranks`.

    Args:
        count: number of ranks.
        device: "cpu", or "cuda": one GPU a rank.
        address: as in `start_ray`.

    Raises:
        InputError: the extra is missing, there is no cluster at the address, or the cluster has no free resources.
    """

    def __init__(self, count: int, device: str, *, address: str):
        self._owned = start_ray(address, cpus=count + 8)
        import ray
        from ray.util.placement_group import placement_group
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        resources = {"CPU": 1, "GPU": 1} if device == "cuda" else {"CPU": 1}
        self._placement = placement_group([resources] * count, strategy="PACK")
        self._actors: list[Any] = []
        self._pids: list[int] = []
        try:
            ray.get(self._placement.ready(), timeout=PLACEMENT_TIMEOUT)
            actor_class = ray.remote(concurrency_groups={"watch": 1})(RankProcess)  # type: ignore[call-overload]
            for rank in range(count):
                strategy = PlacementGroupSchedulingStrategy(self._placement, placement_group_bundle_index=rank)
                options = {"num_cpus": 1, "num_gpus": resources.get("GPU", 0), "scheduling_strategy": strategy}
                # Ray makes only the actor's GPU visible to it.
                rank_device = "cuda:0" if device == "cuda" else device
                self._actors.append(actor_class.options(**options).remote(rank, count, rank_device))
            node = ray.get_runtime_context().get_node_id()
            described = ray.get([actor.describe.remote() for actor in self._actors], timeout=2 * PLACEMENT_TIMEOUT)
            self._pids += [one["pid"] for one in described if one["node"] == node]
        except ray.exceptions.GetTimeoutError:
            free = {name: number for name, number in ray.available_resources().items() if name in ("CPU", "GPU")}
            self.end()
            raise InputError(
                f"the cluster has no free resources for {count} ranks of {resources} each; free are {free}"
            ) from None
        except BaseException:
            self.end()
            raise

    def pids(self) -> list[int]:
        """Return the process ids of local ranks."""
        return list(self._pids)

    def submit(self, rank: int, method: str, arguments: Sequence[Any]) -> Any:
        """Start a call and return a handle."""
        return getattr(self._actors[rank], method).remote(*arguments)

    def wait(self, calls: Sequence[Any], timeout: float) -> list[Any]:
        """Wait up to `timeout` seconds for the first call to end; returns all ended calls."""
        import ray

        return ray.wait(list(calls), timeout=timeout)[0]

    def result(self, call: Any) -> Any:
        """Result of an ended call.

        Raises:
            RankDiedError: the process has ended.
            Exception: raised by the call.
        """
        import ray

        try:
            return ray.get(call)
        except ray.exceptions.RayTaskError as error:
            raise error.cause if isinstance(error.cause, Exception) else error from None
        except ray.exceptions.RayError as error:
            raise RankDiedError(" ".join(str(error).split())) from error

    def stacks(self, ranks: Sequence[int], timeout: float) -> Mapping[int, str]:
        """Return the current stacks of ranks in a call, without ranks that do not answer within `timeout` seconds."""
        import ray

        calls = {self._actors[rank].stack.options(concurrency_group="watch").remote(): rank for rank in ranks}
        ready, _ = ray.wait(list(calls), num_returns=len(calls), timeout=timeout)
        found = dict[int, str]()
        for call in ready:
            with contextlib.suppress(ray.exceptions.RayError):  # the rank may have died
                found[calls[call]] = ray.get(call)
        return found

    def end(self) -> None:
        """Kill all actors, including suspended actors, and shut down a cluster started by this instance."""
        import ray
        from ray.util.placement_group import remove_placement_group

        with contextlib.suppress(Exception):
            for actor in self._actors:
                ray.kill(actor)
            remove_placement_group(self._placement)
        for pid in self._pids:  # a suspended process ignores Ray's request to end
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + KILL_TIMEOUT
        while any(map(_exists, self._pids)) and time.monotonic() < deadline:
            time.sleep(0.02)
        if self._owned:
            ray.shutdown()
        self._actors.clear()
        self._pids.clear()


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
