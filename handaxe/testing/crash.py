"""Crash tests for resumable programs: kill a program repeatedly and restart it until it finishes.

kills = kill_until_done(Path("world.py"), "main", (folder,), after=[0.3, 0.05, 0.7])

A program can also kill itself at a chosen point, independent of machine load:

die = kill_self_at(7)                                in the child: call die() at the point; the 7th call kills it
run_until_killed(Path("world.py"), "main", (folder, 7))
"""

import importlib.util
import itertools
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from handaxe.core.errors import HandaxeError

__all__ = ["kill_self_at", "kill_until_done", "run_until_killed", "start_child"]


def kill_until_done(
    file: Path, function: str, arguments: tuple[Any, ...], *, after: Iterable[float], limit: float = 120.0
) -> int:
    """Run `function` of `file` in child processes, each killed (SIGKILL) after some seconds except the last.

    Args:
        file: a Python file; loaded in every child.
        function: name of a function in it, called with `arguments`, that resumes the work of the earlier child.
        after: lifetime of each child in seconds. A child that finishes earlier ends the test.
        limit: seconds for the last child.

    Returns:
        The number of killed children.

    Raises:
        HandaxeError: a child ends with an error, or the last one does not finish in time.
    """
    for kills, seconds in enumerate((*after, None)):
        child = start_child(file, function, arguments)
        child.join(limit if seconds is None else seconds)
        if child.exitcode == 0:
            return kills
        if child.exitcode is not None:
            raise HandaxeError(f"after {kills} kills, {function} of {file} ended with exit code {child.exitcode}")
        child.kill()
        child.join()
    raise HandaxeError(f"{function} of {file} was not done in {limit} s")


def kill_self_at(count: int) -> Callable[[], None]:
    """Make a function that kills the process (SIGKILL) at call number `count`; 0 for never."""
    calls = itertools.count(1)

    def die() -> None:
        if next(calls) == count:
            os.kill(os.getpid(), signal.SIGKILL)

    return die


def run_until_killed(file: Path, function: str, arguments: tuple[Any, ...], *, limit: float = 120.0) -> None:
    """Run `function` of `file` in a self-killing child process.

    Raises:
        HandaxeError: the child ends otherwise, or lives longer than `limit` seconds.
    """
    child = start_child(file, function, arguments)
    child.join(limit)
    if child.exitcode != -signal.SIGKILL:
        child.kill()
        child.join()
        raise HandaxeError(f"{function} of {file} was not killed: it ended with exit code {child.exitcode}")


def start_child(file: Path, function: str, arguments: tuple[Any, ...]) -> BaseProcess:
    """Start a child process with a call of `function` of `file`. The child is forked from a clean server process with
    the training loop imported, so it starts at once and shares no thread or lock with the caller.
    """
    context = multiprocessing.get_context("forkserver")
    # torch's optimisers import torch._dynamo when the first one is made, which takes a second
    context.set_forkserver_preload(["handaxe.training.loop.train", "handaxe.engines.local.engine", "torch._dynamo"])
    child = context.Process(target=_call, args=(str(file), function, arguments))
    child.start()
    return child


def _call(file: str, function: str, arguments: tuple[Any, ...]) -> None:
    spec = importlib.util.spec_from_file_location("crash_target", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    vars(module)[function](*arguments)
