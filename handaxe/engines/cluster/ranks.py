"""Ranks in separate processes, called together, with deadlines.

A rank that dies or misses the deadline of a call ends all ranks, with one error that names the rank and its stack.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from handaxe.core.errors import InputError, TrainingError
from handaxe.core.model_api import Model
from handaxe.engines.cluster.pipe_ranks import PipedRanks, RankDiedError, sendable
from handaxe.engines.cluster.ray_ranks import RayRanks
from handaxe.engines.cluster.sharded_trainer import ShardedOptions

__all__ = ["Ranks"]

GRACE = 5.0
"""Seconds in which other ranks may still answer a call that failed on one rank."""
MEMORY_ADVICE = (
    "Give the machine more memory or use more ranks, or read fewer tokens at a time (pack_tokens, micro_batch_rows)"
)
KILLED_ADVICE = f"The system kills a process that exceeds the memory, unless a user did it. {MEMORY_ADVICE}"
DIED_ADVICE = "The process printed its error above, unless a signal ended it"
TIMEOUT_ADVICE = "If the step takes longer, give a larger timeout=; else look for a stopped or overloaded machine"
ERROR_ADVICE = "Correct the cause of this error"
COLLECTIVES = ("distributed_c10d.py", "_fsdp_")
"""Files in the stack of a rank that waits for other ranks."""
PEER_ERRORS = ("peer", "ollective", "NCCL", "gloo", "timed out waiting")
"""Parts of error messages caused by the loss of another rank."""


class Ranks:
    """Training processes, shared by several engines, concurrently or in sequence.

    Args:
        count: number of ranks.
        address: of the head of a Ray cluster ("HOST:6379", "auto"), which places the ranks on its machines, or "local"
            for Ray on this machine; None for plain processes of this machine, without Ray.
        device: "cpu" or "cuda", a GPU a rank; None is "cuda" if this machine has at least `count` GPUs.
        timeout: seconds that a call may take, including the loading of a model.

    Raises:
        InputError: the extra is missing, or the cluster has no free resources.
        TrainingError: a rank did not start.
    """

    before_call: Callable[[], object] | None = None
    """Called before each call of the ranks, such as `engines.vllm.servers.VllmServers.sleep`."""

    def __init__(self, count: int, *, address: str | None = None, device: str | None = None, timeout: float = 600.0):
        if count < 1 or not timeout > 0:
            raise InputError(
                f"{count} ranks with a timeout of {timeout} seconds: give at least 1 rank and a time above 0"
            )
        self.count, self.timeout = count, timeout
        self.device = device or ("cuda" if torch.cuda.device_count() >= count else "cpu")
        self._keys = 0
        self._ended = ""
        self._backend: PipedRanks | RayRanks = (
            PipedRanks(count, self.device) if address is None else RayRanks(count, self.device, address=address)
        )
        self._end = weakref.finalize(self, self._backend.end)  # also runs at the end of this process
        described = self._call_ranks("start", "describe", [()] * count)
        # Torch's deadline is later, so that a rank that times out is detected and named here.
        self._call_ranks("start", "join_group", [(described[0]["host"], described[0]["port"], timeout + 60)] * count)

    @property
    def ended(self) -> bool:
        """True if the ranks can no longer be called."""
        return bool(self._ended)

    @property
    def pids(self) -> list[int]:
        """Return the process ids of local ranks."""
        return self._backend.pids()

    def load(self, load: Callable[[], Any] | Model, options: ShardedOptions) -> tuple[int, Model]:
        """Load a model on rank 0, or send a loaded model to rank 0, and shard it; return a key for `call` and the meta
        model."""
        self._keys += 1
        key = self._keys
        [meta] = self._call_ranks("load", "load", [(key, sendable(load))])
        self._call_ranks(
            "receive", "build", [(key, None if rank == 0 else meta, options) for rank in range(self.count)]
        )
        return key, meta

    def share(self, key: int, other: int) -> None:
        """Keep the untrained weights of two models once on each rank; the models are equal."""
        self._call_ranks("share", "share", [(key, other)] * self.count)

    def weight_bytes(self) -> list[int]:
        """Bytes of the weights of all models on each rank; shared memory counts once."""
        return self._call_ranks("weight bytes", "weight_bytes", [()] * self.count)

    def unload(self, key: int) -> None:
        """Release a model."""
        if not self._ended:
            self._call_ranks("unload", "unload", [(key,)] * self.count)

    def free_cached_memory(self) -> None:
        """Return cached GPU memory to the system, for another process on the GPU."""
        self._call_ranks("free memory", "free_cached_memory", [()] * self.count)

    def call(self, key: int, phase: str, method: str, arguments: Sequence[tuple] | None = None) -> list[Any]:
        """Call a method of the `ShardedTrainer` on every rank; returns results in order of rank.

        Args:
            phase: name of the call in error messages.
            arguments: a tuple a rank; None passes none. A single tuple calls rank 0 only.

        Raises:
            InputError: raised by a rank; all ranks have answered and stay usable.
            TrainingError: a rank died, failed or timed out; all ranks are ended.
        """
        rank_arguments = [()] * self.count if arguments is None else arguments
        return self._call_ranks(phase, "call", [(key, method, *each) for each in rank_arguments])

    def close(self) -> None:
        """End all ranks, and Ray if started by this instance."""
        self._ended = self._ended or "the ranks were closed"
        self._end()

    # --- calls -----------------------------------------------------------------------------------------------------

    def _call_ranks(self, phase: str, method: str, arguments: Sequence[tuple]) -> list[Any]:
        if self._ended:
            raise TrainingError(self._ended)
        if self.before_call is not None:
            self.before_call()
        try:
            pending = {self._backend.submit(rank, method, each): rank for rank, each in enumerate(arguments)}
            results, failed = self._wait(phase, pending)
        except BaseException:  # such as Ctrl-C: ranks would be out of step
            self.close()
            raise
        if not failed:
            return [results[rank] for rank in range(len(arguments))]
        # No rank is working, so that all can be called again.
        if not pending and all(isinstance(error, InputError) for error in failed.values()):
            raise failed[min(failed)]
        raise self._failure(phase, failed)

    def _wait(self, phase: str, pending: dict[Any, int]) -> tuple[dict[int, Any], dict[int, Exception]]:
        """Results and errors by rank; calls without either stay in `pending`."""
        results: dict[int, Any] = {}
        failed: dict[int, Exception] = {}
        deadline = time.monotonic() + self.timeout
        while pending:
            ready = self._backend.wait(list(pending), max(0.0, deadline - time.monotonic()))
            if not ready and failed:
                break
            if not ready:
                raise self._timeout_error(phase, sorted(pending.values()))
            for call in ready:
                rank = pending.pop(call)
                try:
                    results[rank] = self._backend.result(call)
                except Exception as error:
                    failed[rank] = error
                    deadline = min(deadline, time.monotonic() + GRACE)
        return results, failed

    def _failure(self, phase: str, failed: Mapping[int, Exception]) -> TrainingError:
        """End all ranks; returns the error of a dead rank, else of the first rank not failed because of a peer."""
        died = [rank for rank in sorted(failed) if isinstance(failed[rank], RankDiedError)]
        own = [rank for rank in sorted(failed) if not any(text in str(failed[rank]) for text in PEER_ERRORS)]
        rank = (died or own or sorted(failed))[0]
        cause = failed[rank]
        problem = f"died in {phase!r}: {cause}" if died else f"failed in {phase!r}: {type(cause).__name__}: {cause}"
        return self._end_with(f"rank {rank} {problem}", _advice(cause), cause)

    def _timeout_error(self, phase: str, pending: Sequence[int]) -> TrainingError:
        """End all ranks; return an error with the ranks outside a collective."""
        stacks = self._backend.stacks(pending, GRACE)
        stuck = [rank for rank in pending if not any(name in stacks.get(rank, "") for name in COLLECTIVES)]
        stuck = stuck or list(pending)
        details = "; ".join(f"rank {rank} is in {stacks[rank]}" for rank in stuck if stacks.get(rank))
        problem = f"rank {' and '.join(map(str, stuck))} did not answer within {self.timeout:g} seconds in {phase!r}"
        return self._end_with(problem + (f" ({details})" if details else ""), TIMEOUT_ADVICE)

    def _end_with(self, problem: str, advice: str, cause: Exception | None = None) -> TrainingError:
        self._ended = f"{problem}; all ranks were ended. {advice}"
        self.close()
        error = TrainingError(self._ended)
        error.__cause__ = cause
        return error


def _advice(cause: Exception) -> str:
    """Remedy of a rank's failure."""
    if isinstance(cause, RankDiedError):
        return KILLED_ADVICE if cause.killed else DIED_ADVICE
    return MEMORY_ADVICE if isinstance(cause, MemoryError | torch.OutOfMemoryError) else ERROR_ADVICE
