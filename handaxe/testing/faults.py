"""Fault injection for tools and environments, reproducible by seed."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.core.protocols import AsyncEnv, Env, EnvFactory
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall, ToolReply
from handaxe.core.requests import EnvReply
from handaxe.envs.wrapper import EnvWrapper
from handaxe.ops.seeds import generator
from handaxe.tools.deadline import Threads
from handaxe.tools.decorator import Tool
from handaxe.tools.tool_owners import collect_tools

__all__ = ["FaultLog", "faulty", "faulty_env"]

Fault = Literal["crash", "hang", "garbage", "kill"]

Process = Callable[[Any], int | None]

MEGABYTES = 10**7
TOOL_GARBAGE: tuple[Callable[[], Any], ...] = (
    lambda: "x" * MEGABYTES,
    lambda: "".join(map(chr, range(32))) + "\x7f\x9b2J",
    lambda: "half \ud800 a character",
    object,
    lambda: b"\xff\xfe",
)
ENV_GARBAGE: tuple[Callable[[], Any], ...] = (
    lambda: None,
    lambda: "a text",
    lambda: EnvReply((Message("tool", "x" * MEGABYTES),)),
    lambda: EnvReply((Message("tool", "half \ud800 a character"),)),
    lambda: EnvReply((Message("tool", 7),)),  # type: ignore[arg-type]
    lambda: EnvReply((), (ToolReply("c0", "t", None),)),  # type: ignore[arg-type]
    lambda: EnvReply(("a text",)),  # type: ignore[arg-type]
)


def _no_process(owner: Any) -> int | None:
    del owner
    return None


class FaultLog:
    """Log of injected faults: `counts` by kind. It may be shared by any number of tools."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.released = threading.Event()
        """Ends all hangs in threads once it is set; a hang on an event loop ends by cancellation."""
        self._lock = threading.Lock()

    def count(self, fault: Fault) -> None:
        """Count a fault."""
        with self._lock:
            self.counts[fault] += 1


def faulty(
    made: Tool | Callable[[], Any],
    *,
    crash: float = 0.1,
    hang: float = 0.1,
    garbage: float = 0.05,
    kill: float = 0.01,
    seed: int = 0,
    process: Process = _no_process,
    log: FaultLog | None = None,
) -> Any:
    """Make a tool's calls fail with given probabilities; everything else is unchanged.

    The fault of a call depends only on `seed`, the call's seed and the number of the try.

    Args:
        made: a tool, or a factory that makes for each rollout a tool, an object with tools, or a list of these.
        crash: probability of an OSError; probabilities are in [0, 1], their sum is at most 1.
        hang: probability of blocking, or awaiting, without end.
        garbage: probability of returning ten megabytes, control characters, a lone surrogate or a wrong type.
        kill: probability of a SystemExit; or, if `process` finds a process, of SIGKILL to it, after which the tool is
            called.
        seed: of the draws.
        process: maps a tool's owner to the id of the process behind it, or None.
        log: counts the faults.

    Returns:
        Another tool; or a factory of lists of tools.

    Raises:
        InputError: invalid probabilities.

    Example:
        tool_chat([faulty(calculator, hang=0.0, log=log), faulty(python, crash=0.5, log=log)])
    """
    faults = _Faults({"crash": crash, "hang": hang, "garbage": garbage, "kill": kill}, seed, process, log or FaultLog())
    if isinstance(made, Tool):
        return _broken(made, faults)
    return lambda: [_broken(tool, faults) for tool in collect_tools(made())]


def faulty_env(
    factory: EnvFactory,
    *,
    crash: float = 0.1,
    hang: float = 0.1,
    garbage: float = 0.05,
    kill: float = 0.01,
    seed: int = 0,
    process: Process = _no_process,
    log: FaultLog | None = None,
) -> EnvFactory:
    """Make the steps of an environment fail with given probabilities, as `faulty` does for a tool's calls.

    `process` receives the environment. An environment with `astep` keeps it. Garbage is never a valid reply.

    Example:
        faulty_env(tool_chat([calculator]), hang=0.0)
    """
    faults = _Faults({"crash": crash, "hang": hang, "garbage": garbage, "kill": kill}, seed, process, log or FaultLog())

    def make(task: Task) -> Env:
        env = factory(task)
        return _FaultyAsyncEnv(env, faults) if isinstance(env, AsyncEnv) else _FaultyEnv(env, faults)

    return make


class _Faults:
    def __init__(self, odds: dict[Fault, float], seed: int, process: Process, log: FaultLog):
        if min(odds.values()) < 0 or sum(odds.values()) > 1:
            raise InputError(f"the probabilities are {odds}; give numbers from 0 that are together 1 or less")
        self.odds = odds
        self.seed = seed
        self.process = process
        self.log = log

    def draw(self, seed: int, tried: int = 0) -> tuple[Fault | None, float]:
        """Draw the fault for the call of a seed, or None, and a number in [0, 1) for the form."""
        at, form = generator(self.seed, "fault", seed, tried).random(2)
        for fault, odds in self.odds.items():
            if at < odds:
                self.log.count(fault)
                return fault, float(form)
            at -= odds
        return None, float(form)

    def strike(self, fault: Fault, owner: Any) -> None:
        """Inject a fault other than garbage, in a thread that may block."""
        if fault == "hang":
            self.log.released.wait()
        self._raise(fault, owner)

    async def astrike(self, fault: Fault, owner: Any) -> None:
        """Inject a fault other than garbage, on an event loop."""
        if fault == "hang":
            await asyncio.get_running_loop().create_future()
        self._raise(fault, owner)

    def _raise(self, fault: Fault, owner: Any) -> None:
        if fault == "kill":
            process = self.process(owner)
            if process is None:
                raise SystemExit("killed on purpose")
            os.kill(process, signal.SIGKILL)
            return
        raise OSError(f"{fault} on purpose")


class _FaultyTool(Tool):
    faults: _Faults

    def prepare(
        self, call: ToolCall, *, seed: int, tried: int = 0, images: tuple[Image, ...] = ()
    ) -> Callable[[], Any]:
        work = super().prepare(call, seed=seed, tried=tried, images=images)
        fault, form = self.faults.draw(seed, tried)
        if fault is None:
            return work
        if fault == "garbage":
            return _returning(TOOL_GARBAGE[int(form * len(TOOL_GARBAGE))], self.function)

        def struck() -> Any:
            self.faults.strike(fault, self.owner)
            return work()

        async def astruck() -> Any:
            await self.faults.astrike(fault, self.owner)
            return await work()

        return astruck if inspect.iscoroutinefunction(self.function) else struck


class _FaultyEnv(EnvWrapper):
    """Not async: a fault strikes in the thread of the inner environment's step."""

    def __init__(self, env: Env, faults: _Faults):
        super().__init__(env)
        self.faults = faults

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        fault, form = self.faults.draw(seed)
        if fault == "garbage":
            return self._garbage(form)
        if fault is not None:
            self.faults.strike(fault, self.env)
        return super().step(turn, seed=seed)

    def _garbage(self, form: float) -> Any:
        return ENV_GARBAGE[int(form * len(ENV_GARBAGE))]()


class _FaultyAsyncEnv(_FaultyEnv):
    env: Any

    async def astep(self, turn: ParsedTurn, *, seed: int, threads: Threads) -> EnvReply:
        fault, form = self.faults.draw(seed)
        if fault == "garbage":
            return self._garbage(form)
        if fault is not None:
            await self.faults.astrike(fault, self.env)
        return await self.env.astep(turn, seed=seed, threads=threads)


def _broken(tool: Tool, faults: _Faults) -> Tool:
    other = _FaultyTool.__new__(_FaultyTool)
    vars(other).update(vars(tool))
    other.faults = faults
    return other


def _returning(make: Callable[[], Any], function: Callable[..., Any]) -> Callable[[], Any]:
    async def amake() -> Any:
        return make()

    return amake if inspect.iscoroutinefunction(function) else make
