"""Ranks as processes of this machine, each behind a pipe.

A rank ends when its pipe does, so that none outlives the driver, however that ends. What goes through is written by
pickle alone: tensors are copied, and no file or memory is shared that would have to be cleared up.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any

from handaxe.core.errors import InputError
from handaxe.engines.cluster.rank_process import RankProcess

__all__ = ["PipedRanks", "RankDiedError", "sendable"]


class RankDiedError(Exception):
    """A rank's process has ended."""


class PipedRanks:
    """Processes of this machine, one a rank; see `Ranks`.

    Args:
        count: of ranks.
        device: "cpu", or "cuda": the GPU of the rank's number.
    """

    def __init__(self, count: int, device: str):
        self._processes: list[subprocess.Popen] = []
        self._pipes: list[Connection] = []
        self._senders: list[_Sender] = []
        try:
            for rank in range(count):
                self._start(rank, count, f"cuda:{rank}" if device == "cuda" else device)
        except BaseException:
            self.end()
            raise

    def _start(self, rank: int, count: int, device: str) -> None:
        ours, theirs = Pipe()
        words = [sys.executable, "-m", "handaxe.engines.cluster.pipe_ranks"]
        words += [str(theirs.fileno()), str(rank), str(count), device]
        environment = {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // count)), **os.environ}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))  # also what a script has put there
        with theirs:
            # In a session of its own, Ctrl-C reaches the driver alone, which ends the ranks.
            self._processes.append(
                subprocess.Popen(words, pass_fds=[theirs.fileno()], env=environment, start_new_session=True)
            )
        self._pipes.append(ours)
        self._senders.append(_Sender(ours))

    def pids(self) -> list[int]:
        """Of the ranks, in their order."""
        return [process.pid for process in self._processes]

    def ask(self, rank: int, method: str, arguments: Sequence[Any]) -> Any:
        """Begin a call; what stands for it."""
        self._senders[rank].messages.put((method.encode(), pickle.dumps(tuple(arguments), protocol=5)))
        return self._pipes[rank]

    def ready(self, calls: Sequence[Any], timeout: float) -> list[Any]:
        """Those that have ended, at least one if any does within so many seconds."""
        return list(wait(list(calls), timeout=timeout))

    def answer(self, call: Any) -> Any:
        """What a call that has ended gave.

        Raises:
            RankDiedError: the process has ended.
            Exception: what it raised.
        """
        try:
            fine, answer = pickle.loads(call.recv_bytes())
        except (EOFError, OSError) as error:
            process = self._processes[self._pipes.index(call)]
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(1.0)
            raise RankDiedError(f"its process {process.pid} has ended with code {process.returncode}") from error
        if not fine:
            raise answer
        return answer

    def where(self, ranks: Sequence[int], timeout: float) -> Mapping[int, str]:
        """What ranks that are in a call are doing right now, of those that can say it."""
        for rank in ranks:
            self.ask(rank, "where", ())
        found, deadline = dict[int, str](), time.monotonic() + timeout
        waiting = {id(self._pipes[rank]): rank for rank in ranks}
        while waiting and time.monotonic() < deadline:
            pipes = [self._pipes[rank] for rank in waiting.values()]
            for call in self.ready(pipes, deadline - time.monotonic()):
                with contextlib.suppress(Exception):
                    found[waiting[id(call)]] = str(self.answer(call))
                del waiting[id(call)]
        return found

    def end(self) -> None:
        """End every process, also one that is stopped."""
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGKILL)
        for process in self._processes:
            process.wait()
        for sender in self._senders:
            sender.messages.put(())
            if sender is not threading.current_thread():  # in which Python may clear up
                sender.join(1.0)
        for pipe in self._pipes:
            pipe.close()
        self._processes.clear()
        self._pipes.clear()
        self._senders.clear()


class _Sender(threading.Thread):
    """Sends calls to one rank, so that the driver never waits for a rank that does not read. It ends after an empty
    one, or with the rank, which is seen when its answer is wanted."""

    def __init__(self, pipe: Connection):
        super().__init__(daemon=True)
        self.messages: queue.SimpleQueue[tuple[bytes, ...]] = queue.SimpleQueue()
        self._pipe = pipe
        self.start()

    def run(self) -> None:
        with contextlib.suppress(OSError):
            while call := self.messages.get():
                for part in call:
                    self._pipe.send_bytes(part)


def sendable(load: Any) -> Any:
    """What makes a model, as another process can take it.

    Args:
        load: makes the model; where only this process knows it, it makes the model here. Or a model in hand.

    Raises:
        InputError: neither it nor what it makes can be sent.
    """
    if callable(load) and _sent(load):
        return load
    made = _Made(load() if callable(load) else load)
    if not _sent(made):
        raise InputError("the model cannot be sent to another process: give a function of a module that loads it there")
    return made


class _Made:
    """A model in hand, to be taken over."""

    def __init__(self, model: Any):
        self._model = model

    def __call__(self) -> Any:
        return self._model


def _sent(thing: Any) -> bool:
    """Whether it can be sent; what stands in the script that is run is not there in another process."""
    try:
        return b"__main__" not in pickle.dumps(thing)
    except Exception:  # whatever a thing's own way of being written raises
        return False


def _serve(pipe: Connection, rank: int, count: int, device: str) -> None:
    """Work off calls until the pipe ends; "where" is answered at once."""
    process = RankProcess(rank, count, device)
    calls: queue.SimpleQueue[tuple[str, bytes]] = queue.SimpleQueue()
    turn = threading.Lock()

    def tell(fine: bool, answer: Any) -> None:
        with turn:
            pipe.send_bytes(pickle.dumps((fine, answer), protocol=5))

    def listen() -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                method, arguments = pipe.recv_bytes().decode(), pipe.recv_bytes()
                if method == "where":
                    tell(True, process.where())
                else:
                    calls.put((method, arguments))
        os._exit(1)  # the driver is gone, and the call at work may never end

    threading.Thread(target=listen, daemon=True).start()
    while True:
        method, arguments = calls.get()
        try:
            answer = getattr(process, method)(*pickle.loads(arguments))
        except Exception as error:
            tell(False, _told(error))
        else:
            tell(True, answer)


def _told(error: Exception) -> Exception:
    """The error, or its words where it cannot be sent."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
