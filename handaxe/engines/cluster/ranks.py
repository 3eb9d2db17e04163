"""Ranks in processes of their own: calls that go to all of them at once, for they work together.

A call has a deadline. A rank that dies, or is silent for longer, ends all of them, with one error that names it and
what it was doing.
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
from handaxe.engines.cluster.sharded import ShardedOptions

__all__ = ["Ranks"]

GRACE = 5.0
"""Seconds in which the others may still say what came of a call that has failed on one rank."""
GOES_ON = "; all ranks were ended, and what is left is the last checkpoint: `handaxe resume` goes on from there"
COLLECTIVES = ("distributed_c10d.py", "_fsdp_")
"""Files that a rank is in while it waits for others."""
OF_OTHERS = ("peer", "ollective", "NCCL", "gloo", "timed out waiting")
"""Words of errors that say that another rank has left."""


class Ranks:
    """Processes that train together; several engines may use them one after another and side by side.

    Args:
        count: of ranks.
        address: of a Ray cluster's head ("HOST:6379", "auto"), which places them on its machines, or "local" for Ray on
            this machine; None for plain processes of this machine, which need no Ray.
        device: "cpu" or "cuda", a GPU a rank; None is "cuda" where this machine has as many GPUs.
        timeout: seconds that any call may take, the loading of a model too.

    Raises:
        InputError: the extra is missing, or the cluster has no room.
        TrainingError: a rank did not come up.
    """

    def __init__(self, count: int, *, address: str | None = None, device: str | None = None, timeout: float = 600.0):
        if count < 1 or not timeout > 0:
            raise InputError(f"{count} ranks with {timeout} seconds a call: give at least one, and a time above 0")
        self.count, self.timeout = count, timeout
        self.device = device or ("cuda" if torch.cuda.device_count() >= count else "cpu")
        self._keys = 0
        self._ended = ""
        self._places: PipedRanks | RayRanks = (
            PipedRanks(count, self.device) if address is None else RayRanks(count, self.device, address=address)
        )
        self._end = weakref.finalize(self, self._places.end)  # also when this process ends
        about = self._ask("start", "about", [()] * count)
        # Torch's own deadline comes later, so that a rank that is silent is found here and named.
        self._ask("start", "join", [(about[0]["host"], about[0]["port"], timeout + 60)] * count)

    @property
    def ended(self) -> bool:
        """Whether they can be asked no more."""
        return bool(self._ended)

    @property
    def pids(self) -> list[int]:
        """Of the ranks on this machine."""
        return self._places.pids()

    def load(self, load: Callable[[], Any] | Model, options: ShardedOptions) -> tuple[int, Model]:
        """Load a model on rank 0, or send one there, and split it over all; a key for `call`, and the model without its
        weights."""
        self._keys += 1
        key = self._keys
        [bare] = self._ask("load", "load", [(key, sendable(load))])
        self._ask("receive", "build", [(key, None if rank == 0 else bare, options) for rank in range(self.count)])
        return key, bare

    def forget(self, key: int) -> None:
        """Let go of a model."""
        if not self._ended:
            self._ask("forget", "forget", [(key,)] * self.count)

    def call(self, key: int, phase: str, method: str, each: Sequence[tuple] | None = None) -> list[Any]:
        """Call a method of every rank's `ShardedTrainer`; the answers in order of rank.

        Args:
            phase: what to call it in an error.
            each: arguments of each rank, none unless told otherwise; those of rank 0 alone call it there alone.

        Raises:
            InputError: what a rank refused, all having answered; they go on.
            TrainingError: a rank died, failed or was silent; all are ended.
        """
        given = [()] * self.count if each is None else each
        return self._ask(phase, "call", [(key, method, *arguments) for arguments in given])

    def close(self) -> None:
        """End all ranks, and Ray where it was started for them."""
        self._ended = self._ended or "the ranks were closed"
        self._end()

    # --- asking ----------------------------------------------------------------------------------------------------

    def _ask(self, phase: str, method: str, each: Sequence[tuple]) -> list[Any]:
        if self._ended:
            raise TrainingError(self._ended)
        try:
            waiting = {self._places.ask(rank, method, given): rank for rank, given in enumerate(each)}
            answers, failed = self._wait(phase, waiting)
        except BaseException:  # such as Ctrl-C: some ranks would be a call ahead of the others
            self.close()
            raise
        if not failed:
            return [answers[rank] for rank in range(len(each))]
        # No rank is at work any more, so all can be asked again.
        if not waiting and all(isinstance(error, InputError) for error in failed.values()):
            raise failed[min(failed)]
        raise self._over(phase, failed)

    def _wait(self, phase: str, waiting: dict[Any, int]) -> tuple[dict[int, Any], dict[int, Exception]]:
        """Answers and errors by rank, as they come; ranks that gave neither are left in `waiting`."""
        answers: dict[int, Any] = {}
        failed: dict[int, Exception] = {}
        deadline = time.monotonic() + self.timeout
        while waiting:
            ready = self._places.ready(list(waiting), max(0.0, deadline - time.monotonic()))
            if not ready and failed:
                break
            if not ready:
                raise self._silent(phase, sorted(waiting.values()))
            for call in ready:
                rank = waiting.pop(call)
                try:
                    answers[rank] = self._places.answer(call)
                except Exception as error:
                    failed[rank] = error
                    deadline = min(deadline, time.monotonic() + GRACE)
        return answers, failed

    def _over(self, phase: str, failed: Mapping[int, Exception]) -> TrainingError:
        """End all; the error of a rank that died, else of the first that failed for a reason of its own."""
        died = [rank for rank in sorted(failed) if isinstance(failed[rank], RankDiedError)]
        own = [rank for rank in sorted(failed) if not any(word in str(failed[rank]) for word in OF_OTHERS)]
        rank = (died or own or sorted(failed))[0]
        cause = failed[rank]
        said = f"died in {phase!r}: {cause}" if died else f"failed in {phase!r}: {type(cause).__name__}: {cause}"
        return self._finished(f"rank {rank} {said}", cause)

    def _silent(self, phase: str, waiting: Sequence[int]) -> TrainingError:
        """End all; the error of ranks that are silent for reasons of their own, not for waiting for others."""
        where = self._places.where(waiting, GRACE)
        guilty = [rank for rank in waiting if not any(name in where.get(rank, "") for name in COLLECTIVES)]
        guilty = guilty or list(waiting)
        doing = "; ".join(f"rank {rank} is in {where[rank]}" for rank in guilty if where.get(rank))
        said = f"rank {' and '.join(map(str, guilty))} has said nothing for {self.timeout:g} seconds in {phase!r}"
        return self._finished(said + (f" ({doing})" if doing else ""))

    def _finished(self, said: str, cause: Exception | None = None) -> TrainingError:
        self._ended = said + GOES_ON
        self.close()
        error = TrainingError(self._ended)
        error.__cause__ = cause
        return error
