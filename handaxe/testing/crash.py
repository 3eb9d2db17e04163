"""Kill a program at any instant, start it again, until it is done: the test of whatever claims to resume.

kills = kill_until_done(Path("world.py"), "main", (folder,), after=[0.3, 0.05, 0.7])

At a chosen instant a program kills itself there, whatever the machine is busy with:

die = dies_at(7)                                          in the child: die() at the instant; the 7th time is the last
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

__all__ = ["dies_at", "kill_until_done", "run_until_killed", "start_child"]


def kill_until_done(
    file: Path, function: str, arguments: tuple[Any, ...], *, after: Iterable[float], limit: float = 120.0
) -> int:
    """Call `function` of `file` in a child process again and again, each time killed (SIGKILL), the last time not.

    Args:
        file: a Python file; loaded anew in every child.
        function: a function in it, called with `arguments`, that goes on with what the one before left.
        after: seconds that each child lives. A child that is done sooner ends the test.
        limit: seconds for the last child.

    Returns:
        How many children were killed.

    Raises:
        HandaxeError: when a child ends with an error, or the last one is not done in time.
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


def dies_at(count: int) -> Callable[[], None]:
    """A function that kills this process (SIGKILL) when it is called for the `count`-th time; 0 is never."""
    calls = itertools.count(1)

    def die() -> None:
        if next(calls) == count:
            os.kill(os.getpid(), signal.SIGKILL)

    return die


def run_until_killed(file: Path, function: str, arguments: tuple[Any, ...], *, limit: float = 120.0) -> None:
    """Call `function` of `file` in a child process that is to be killed at an instant of its own.

    Raises:
        HandaxeError: when the child ends otherwise, or lives on for `limit` seconds.
    """
    child = start_child(file, function, arguments)
    child.join(limit)
    if child.exitcode != -signal.SIGKILL:
        child.kill()
        child.join()
        raise HandaxeError(f"{function} of {file} was not killed: it ended with exit code {child.exitcode}")


def start_child(file: Path, function: str, arguments: tuple[Any, ...]) -> BaseProcess:
    """Start a child process that calls `function` of `file`. It is forked from a clean server process that has
    imported the training loop, so it starts at once and shares no thread or lock with this one."""
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
