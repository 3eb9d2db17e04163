"""Any environment, made to answer late: for measuring how rollouts bear tools that take their time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from handaxe.envs.bounded_as import bounded_as
from handaxe.errors import InputError
from handaxe.exchange import EnvReply
from handaxe.records import Message, ParsedTurn, Task, ToolSchema
from handaxe.slots import Env, EnvFactory, Hears
from handaxe.tools.deadline import Threads

__all__ = ["slow"]


def slow(env: EnvFactory, *, median: float = 0.05, sigma: float = 1.0, longest: float = 2.0) -> EnvFactory:
    """Make an environment that answers as `env` does, after really waiting.

        wait = min(longest, median * exp(sigma * z)),   z standard normal, drawn from the seed of the step

    Turns without a call are answered at once. The wait is added to the recorded seconds of the turn's last reply.

    Args:
        env: what answers.
        median: seconds, >= 0.
        sigma: spread of the logarithm, >= 0; 0 makes every call take `median` seconds.
        longest: seconds that no wait exceeds.

    Returns:
        An EnvFactory, `slots.Bounded` where `env` is. Waiting blocks no thread of the driver.

    Raises:
        InputError: a number that is negative or NaN.

    Example:
        slow(tool_chat([calculator]), median=0.25, sigma=0)
    """
    if not all(number >= 0 for number in (median, sigma, longest)):
        raise InputError(f"median {median}, sigma {sigma} and longest {longest} must not be negative")
    return bounded_as(lambda task: _Slow(env(task), task, (median, sigma, longest)), env)


class _Slow:
    """Implements `slots.Env`, and `astep` besides."""

    def __init__(self, env: Env, task: Task, shape: tuple[float, float, float]):
        self.env = env
        if isinstance(env, Hears):
            self.heard = env.heard
        self.task = task
        self.shape = shape

    def start(self) -> tuple[tuple[Message, ...], tuple[ToolSchema, ...]]:
        return self.env.start()

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        wait = self._wait(turn, seed)
        time.sleep(wait)
        return _later(self.env.step(turn, seed=seed), wait)

    async def astep(self, turn: ParsedTurn, *, seed: int, threads: Threads) -> EnvReply:
        wait = self._wait(turn, seed)
        await asyncio.sleep(wait)
        inner = getattr(self.env, "astep", None)
        if inner is not None:
            return _later(await inner(turn, seed=seed, threads=threads), wait)
        return _later(await threads.run(lambda: self.env.step(turn, seed=seed), seconds=None), wait)

    def report(self) -> Mapping[str, Any]:
        return self.env.report()

    def snapshot(self) -> Any:
        return self.env.snapshot()

    def restore(self, state: Any) -> None:
        self.env.restore(state)

    def close(self) -> None:
        self.env.close()

    def _wait(self, turn: ParsedTurn, seed: int) -> float:
        if not turn.calls:
            return 0.0
        median, sigma, longest = self.shape
        z = np.random.Generator(np.random.Philox(key=seed)).standard_normal()
        return float(min(longest, median * np.exp(sigma * z)))


def _later(reply: EnvReply, wait: float) -> EnvReply:
    if not reply.replies or not wait:
        return reply
    last = reply.replies[-1]
    return reply._replace(replies=(*reply.replies[:-1], replace(last, seconds=last.seconds + wait)))
