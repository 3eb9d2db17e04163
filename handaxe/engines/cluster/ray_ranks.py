"""Ranks as actors of Ray, on one machine or on several."""

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
"""The address that stands for a cluster of this machine alone, started by this process."""
ROOM = 30.0
"""Seconds in which a cluster has to find room."""
GONE = 5.0
"""Seconds in which a process that is killed has ended."""


def start_ray(address: str, *, cpus: int = 0) -> bool:
    """Connect to Ray, where this process has not; whether a cluster was started for it.

    Args:
        address: of a cluster's head ("HOST:6379", "auto"); "local" starts one on this machine, which listens on the
            loopback address alone and ends with this process.
        cpus: tasks that are to run at the same time on a machine that may have fewer cores.

    Raises:
        InputError: the extra is missing, or there is no cluster at the address.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray sends no statistics about its use
    try:
        import ray
    except ImportError as error:
        raise InputError(f'--ray needs Ray; install it with: pip install "handaxe[cluster]" ({error})') from error
    if ray.is_initialized():
        return False
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == HERE:
        _start_here(max(os.cpu_count() or 1, cpus), quiet)
        return True
    try:
        _knock(address)
        ray.init(address, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise InputError(f"there is no Ray cluster at {address}: {error}") from error
    return False


def _knock(address: str) -> None:
    """Raise ConnectionError where nothing listens: Ray itself asks for minutes."""
    host, _, port = address.rpartition("//")[2].rpartition(":")
    if host and port.isdecimal():
        try:
            socket.create_connection((host, int(port)), timeout=30).close()
        except (OSError, OverflowError) as error:
            raise ConnectionError(str(error)) from error


def _start_here(cores: int, quiet: Mapping[str, Any]) -> None:
    """Start Ray on this machine. It gives up after half a minute, and on a busy machine is tried again."""
    import ray

    lean = {"prestart_worker_first_driver": False, "enable_metrics_collection": False}
    for left in (2, 1, 0):
        try:
            ray.init(
                HERE,
                num_cpus=cores,
                include_dashboard=False,
                _node_ip_address="127.0.0.1",
                _system_config=lean,
                **quiet,
            )
            return
        except Exception as error:  # Ray has no kind of its own for it
            ray.shutdown()
            if "timed out during startup" not in str(error) or not left:
                raise InputError(f"Ray does not start on this machine: {error}") from error


class RayRanks:
    """Actors of a cluster, one a rank; see `Ranks`.

    Args:
        count: of ranks.
        device: "cpu", or "cuda": each rank is given a GPU.
        address: as of `start_ray`.

    Raises:
        InputError: the extra is missing, there is no cluster at the address, or it has no room.
    """

    def __init__(self, count: int, device: str, *, address: str):
        self._owned = start_ray(address, cpus=count + 8)
        import ray
        from ray.util.placement_group import placement_group
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        needs = {"CPU": 1, "GPU": 1} if device == "cuda" else {"CPU": 1}
        self._room = placement_group([needs] * count, strategy="PACK")
        self._actors: list[Any] = []
        self._pids: list[int] = []
        try:
            ray.get(self._room.ready(), timeout=ROOM)
            kind = ray.remote(concurrency_groups={"watch": 1})(RankProcess)  # type: ignore[call-overload]
            for rank in range(count):
                place = PlacementGroupSchedulingStrategy(self._room, placement_group_bundle_index=rank)
                made = kind.options(num_cpus=1, num_gpus=needs.get("GPU", 0), scheduling_strategy=place)
                # Ray shows a process its own GPU alone.
                self._actors.append(made.remote(rank, count, "cuda:0" if device == "cuda" else device))
            here = ray.get_runtime_context().get_node_id()
            about = ray.get([actor.about.remote() for actor in self._actors], timeout=2 * ROOM)
            self._pids += [one["pid"] for one in about if one["node"] == here]
        except ray.exceptions.GetTimeoutError:
            free = {name: number for name, number in ray.available_resources().items() if name in ("CPU", "GPU")}
            self.end()
            raise InputError(f"the cluster has no room for {count} ranks of {needs} each; free are {free}") from None
        except BaseException:
            self.end()
            raise

    def pids(self) -> list[int]:
        """Of the ranks on this machine."""
        return list(self._pids)

    def ask(self, rank: int, method: str, arguments: Sequence[Any]) -> Any:
        """Begin a call; what stands for it."""
        return getattr(self._actors[rank], method).remote(*arguments)

    def ready(self, calls: Sequence[Any], timeout: float) -> list[Any]:
        """Those that have ended, at least one if any does within so many seconds."""
        import ray

        return ray.wait(list(calls), timeout=timeout)[0]

    def answer(self, call: Any) -> Any:
        """What a call that has ended gave.

        Raises:
            RankDiedError: the process has ended.
            Exception: what it raised.
        """
        import ray

        try:
            return ray.get(call)
        except ray.exceptions.RayTaskError as error:
            raise error.cause if isinstance(error.cause, Exception) else error from None
        except ray.exceptions.RayError as error:
            raise RankDiedError(" ".join(str(error).split())) from error

    def where(self, ranks: Sequence[int], timeout: float) -> Mapping[int, str]:
        """What ranks that are in a call are doing right now, of those that can say it."""
        import ray

        calls = {self._actors[rank].where.options(concurrency_group="watch").remote(): rank for rank in ranks}
        ready, _ = ray.wait(list(calls), num_returns=len(calls), timeout=timeout)
        found = dict[int, str]()
        for call in ready:
            with contextlib.suppress(ray.exceptions.RayError):  # of a rank that died meanwhile
                found[calls[call]] = ray.get(call)
        return found

    def end(self) -> None:
        """End every actor, also one that is stopped, and the cluster where it was started for them."""
        import ray
        from ray.util.placement_group import remove_placement_group

        with contextlib.suppress(Exception):
            for actor in self._actors:
                ray.kill(actor)
            remove_placement_group(self._room)
        for pid in self._pids:  # one that is stopped does not hear that it is to end
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        begun = time.monotonic()
        while any(map(_exists, self._pids)) and time.monotonic() < begun + GONE:
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
