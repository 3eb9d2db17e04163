"""Scores of functions that may be coroutine functions.

Coroutines run on one event loop in a background thread, which lives as long as the process, so that a client of a model
server keeps its connections between groups.

Example:
    async def judged(trajectory): return await verdict(trajectory.final_text)

    call_scores(judged, group, concurrency=16) awaits the verdicts of all siblings at the same time
Idea: a judge on a server takes seconds a rollout; a group waits for the slowest one, not for the sum.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Trajectory
from handaxe.rewards.parts.checks import call_score
from handaxe.tools.background_loop import shared_loop

__all__ = ["call_scores"]


def call_scores(score: Callable[[Trajectory], Any], group: Group, *, concurrency: int) -> list[Any]:
    """Call a score with each trajectory, and await the coroutines that it returns, all together.

    Args:
        score: returns a value, or an awaitable of a value.
        concurrency: most coroutines that run at the same time, >= 1.

    Returns:
        The values in order of the siblings.

    Raises:
        VerifierError: a call or a coroutine raised an error, also TimeoutError; of several coroutines, the first in
            order of the siblings, after the end of all.
        InputError: an InputError of a call, such as TaskError, passes through; or `concurrency` is below 1.
    """
    if concurrency < 1:
        raise InputError(f"concurrency is {concurrency}; give 1 or more")
    results: list[Any] = []
    try:
        for one in group:
            results.append(call_score(score, one))
    except BaseException:
        for result in filter(inspect.iscoroutine, results):
            result.close()
        raise
    if not any(map(inspect.isawaitable, results)):
        return results
    ended = shared_loop().wait(_await_all(results, concurrency))
    return [call_score(partial(_value, *pair), one) for one, pair in zip(group, ended)]


async def _await_all(results: Sequence[Any], concurrency: int) -> list[tuple[Any, BaseException | None]]:
    """Value and error of each result."""
    limit = asyncio.Semaphore(concurrency)

    async def ended(result: Any) -> tuple[Any, BaseException | None]:
        if not inspect.isawaitable(result):
            return result, None
        async with limit:
            return await _catch(result)

    return await asyncio.gather(*map(ended, results))


async def _catch(work: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    try:
        return await work, None
    except BaseException as error:  # a SystemExit would end the event loop; raised by the caller
        return None, error


def _value(value: Any, error: BaseException | None, _: Trajectory) -> Any:
    if isinstance(error, asyncio.CancelledError):
        raise RuntimeError("the coroutine was cancelled") from error
    if error is not None:
        raise error
    return value
