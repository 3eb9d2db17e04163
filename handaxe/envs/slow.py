"""Environment wrapper that adds latency, to measure rollouts with slow tools."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import ParsedTurn, Task
from handaxe.core.requests import EnvReply
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.wrapper import AsyncEnvWrapper
from handaxe.tools.deadline import Threads

__all__ = ["slow"]


def slow(env: EnvFactory, *, median: float = 0.05, sigma: float = 1.0, longest: float = 2.0) -> EnvFactory:
    """Delay an environment's answers by real waiting time.

        wait = min(longest, median * exp(sigma * z)),   z standard normal, drawn from the seed of the step

    Turns without a call are answered at once. The wait is added to the recorded seconds of the turn's last reply.

    Args:
        env: environment factory inside.
        median: seconds, >= 0.
        sigma: spread of the logarithm, >= 0; with 0 every call takes `median` seconds.
        longest: upper bound of a wait in seconds.

    Returns:
        An EnvFactory, bounded as `env` is. Waiting blocks no thread of the driver.

    Raises:
        InputError: a number that is negative or NaN.

    Example:
        slow(tool_chat([calculator]), median=0.25, sigma=0)
    """
    if not all(number >= 0 for number in (median, sigma, longest)):
        raise InputError(f"median {median}, sigma {sigma} and longest {longest} must not be negative")
    return inherit_bound(lambda task: _Slow(env(task), task, (median, sigma, longest)), env)


class _Slow(AsyncEnvWrapper):
    def __init__(self, env: Env, task: Task, shape: tuple[float, float, float]):
        super().__init__(env)
        self.task = task
        self.shape = shape

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        wait = self._wait(turn, seed)
        time.sleep(wait)
        return _add_seconds(super().step(turn, seed=seed), wait)

    async def astep(self, turn: ParsedTurn, *, seed: int, threads: Threads) -> EnvReply:
        wait = self._wait(turn, seed)
        await asyncio.sleep(wait)
        return _add_seconds(await super().astep(turn, seed=seed, threads=threads), wait)

    def _wait(self, turn: ParsedTurn, seed: int) -> float:
        if not turn.calls:
            return 0.0
        median, sigma, longest = self.shape
        z = np.random.Generator(np.random.Philox(key=seed)).standard_normal()
        return float(min(longest, median * np.exp(sigma * z)))


def _add_seconds(reply: EnvReply, wait: float) -> EnvReply:
    if not reply.replies or not wait:
        return reply
    last = reply.replies[-1]
    return reply._replace(replies=(*reply.replies[:-1], replace(last, seconds=last.seconds + wait)))
