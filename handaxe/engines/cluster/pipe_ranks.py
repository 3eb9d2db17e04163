"""Ranks as processes of this machine, connected by pipes.

A rank ends when its pipe closes, so that no rank outlives the driver, even if the driver is killed. Messages are plain
pickles: tensors are copied, and no file or shared memory needs to be cleaned up.
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
    """A rank's process has ended; `killed`: by SIGKILL."""

    def __init__(self, message: str, *, killed: bool = False):
        super().__init__(message)
        self.killed = killed


class PipedRanks:
    """Local processes, one per rank; see `Ranks`.

    Args:
        count: number of ranks.
        device: "cpu", or "cuda": rank n uses GPU n.
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
        driver_end, rank_end = Pipe()
        command = [sys.executable, "-m", "handaxe.engines.cluster.pipe_ranks"]
        command += [str(rank_end.fileno()), str(rank), str(count), device]
        environment = {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // count)), **os.environ}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))  # includes paths added by a script
        with rank_end:
            # In a new session: Ctrl-C reaches only the driver, which ends the ranks.
            self._processes.append(
                subprocess.Popen(command, pass_fds=[rank_end.fileno()], env=environment, start_new_session=True)
            )
        self._pipes.append(driver_end)
        self._senders.append(_Sender(driver_end))

    def pids(self) -> list[int]:
        """Process ids, in order of rank."""
        return [process.pid for process in self._processes]

    def submit(self, rank: int, method: str, arguments: Sequence[Any]) -> Any:
        """Start a call and return a handle."""
        self._senders[rank].messages.put((method.encode(), pickle.dumps(tuple(arguments), protocol=5)))
        return self._pipes[rank]

    def wait(self, calls: Sequence[Any], timeout: float) -> list[Any]:
        """Wait up to `timeout` seconds for the first call to end; returns all ended calls."""
        return list(wait(list(calls), timeout=timeout))

    def result(self, call: Any) -> Any:
        """Result of an ended call.

        Raises:
            RankDiedError: the process has ended.
            Exception: raised by the call.
        """
        try:
            succeeded, result = pickle.loads(call.recv_bytes())
        except (EOFError, OSError) as error:
            process = self._processes[self._pipes.index(call)]
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(1.0)
            raise RankDiedError(
                f"its process {process.pid} has ended with code {process.returncode}",
                killed=process.returncode == -signal.SIGKILL,
            ) from error
        if not succeeded:
            raise result
        return result

    def stacks(self, ranks: Sequence[int], timeout: float) -> Mapping[int, str]:
        """Return the current stacks of ranks in a call, without ranks that do not answer within `timeout` seconds."""
        for rank in ranks:
            self.submit(rank, "stack", ())
        found, deadline = dict[int, str](), time.monotonic() + timeout
        pending = {id(self._pipes[rank]): rank for rank in ranks}
        while pending and time.monotonic() < deadline:
            pipes = [self._pipes[rank] for rank in pending.values()]
            for call in self.wait(pipes, deadline - time.monotonic()):
                with contextlib.suppress(Exception):
                    found[pending[id(call)]] = str(self.result(call))
                del pending[id(call)]
        return found

    def end(self) -> None:
        """Kill all processes, including suspended processes."""
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGKILL)
        for process in self._processes:
            process.wait()
        for sender in self._senders:
            sender.messages.put(())
            if sender is not threading.current_thread():  # garbage collection may run in a sender
                sender.join(1.0)
        for pipe in self._pipes:
            pipe.close()
        self._processes.clear()
        self._pipes.clear()
        self._senders.clear()


class _Sender(threading.Thread):
    """Send calls to a rank from a thread, so that the driver never blocks on a busy rank. An empty message or the end
    of the rank ends the thread; `PipedRanks.result` reports the end of the rank."""

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
    """Make a picklable function that returns a model in another process.

    Args:
        load: returns the model; called in this process if it cannot be pickled. Or a loaded model.

    Raises:
        InputError: neither the function nor the model can be pickled.
    """
    if callable(load) and _picklable(load):
        return load
    made = _LoadedModel(load() if callable(load) else load)
    if not _picklable(made):
        raise InputError("the model cannot be sent to another process: give a function of a module that loads it there")
    return made


class _LoadedModel:
    """Returns a model loaded before."""

    def __init__(self, model: Any):
        self._model = model

    def __call__(self) -> Any:
        return self._model


def _picklable(value: Any) -> bool:
    """Check that another process can unpickle a value. Definitions of the running script fail, because they are missing
    there."""
    try:
        return b"__main__" not in pickle.dumps(value)
    except Exception:  # a custom __reduce__ may raise anything
        return False


def _serve(pipe: Connection, rank: int, count: int, device: str) -> None:
    """Serve calls until the pipe closes; "stack" is answered at once."""
    process = RankProcess(rank, count, device)
    calls: queue.SimpleQueue[tuple[str, bytes]] = queue.SimpleQueue()
    lock = threading.Lock()

    def send(succeeded: bool, result: Any) -> None:
        with lock:
            pipe.send_bytes(pickle.dumps((succeeded, result), protocol=5))

    def listen() -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                method, arguments = pipe.recv_bytes().decode(), pipe.recv_bytes()
                if method == "stack":
                    send(True, process.stack())
                else:
                    calls.put((method, arguments))
        os._exit(1)  # the driver has ended, and the running call may never return

    threading.Thread(target=listen, daemon=True).start()
    while True:
        method, arguments = calls.get()
        try:
            result = getattr(process, method)(*pickle.loads(arguments))
        except Exception as error:
            send(False, _picklable_error(error))
        else:
            send(True, result)


def _picklable_error(error: Exception) -> Exception:
    """Return the error, or a RuntimeError with the same message if the error cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
