"""Makes a tool of a typed function with a docstring."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
import inspect
import time
from collections.abc import Callable, Generator
from typing import Any, overload

from pydantic import ValidationError

from handaxe.core.errors import InputError, ToolDefinitionError
from handaxe.core.records import ToolCall, ToolReply, ToolSchema
from handaxe.tools import fault
from handaxe.tools.deadline import Threads, within, within_async
from handaxe.tools.fault import CallOutcome, TimeoutIs
from handaxe.tools.schema import Billed, Definition, ToolContext, define
from handaxe.tools.text import as_bill
from handaxe.tools.threads import Limit
from handaxe.tools.truncate import Drop, truncate

__all__ = ["Tool", "tool"]

NOTHING = Billed("")


class Tool:
    """A function that a policy can call, with what it says of itself. Calling it calls the function.

    Made by `tool`. On a method it is a descriptor: `notes.write` is the tool bound to that object, which is its
    `owner`; the method's state is the object's.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        definition: Definition,
        *,
        timeout: float | None,
        timeout_is: TimeoutIs,
        cost: float,
        max_chars: int,
        drop: Drop,
        method: bool,
        limit: Limit | None = None,
        retries: int = 0,
    ):
        self.function = function
        self.definition = definition
        self.method = method
        self.limit, self.retries = limit, retries
        self.owner: Any = None
        self._async = inspect.iscoroutinefunction(function)
        self.timeout, self.timeout_is = timeout, timeout_is
        self.cost = cost
        self.max_chars = max_chars
        self.drop = drop
        functools.update_wrapper(self, function)

    @property
    def schema(self) -> ToolSchema:
        """What a policy is told about it."""
        return self.definition.schema

    @property
    def unbound(self) -> bool:
        """Whether it is a method that belongs to no object yet, and so cannot run."""
        return self.method and self.owner is None

    def __repr__(self) -> str:
        return f"<tool {self.schema.name}{'' if self.owner is None else f' of {type(self.owner).__name__}'}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Tool:
        if instance is None or not self.method:
            return self
        bound = copy.copy(self)
        bound.owner = instance
        return bound

    def but(self, *, max_chars: int, cost: float, prefix: str = "") -> Tool:
        """The same tool with other `max_chars` and cost, and a prefix before its name."""
        changed = copy.copy(self)
        changed.max_chars = max_chars
        changed.cost = cost
        changed.definition = self.definition.prefixed(prefix)
        return changed

    @property
    def __call__(self) -> Callable[..., Any]:
        """The function, bound to the owner if it is a method. Python calls what this property gives."""
        bound = self.method and self.owner is not None
        return functools.partial(self.function, self.owner) if bound else self.function

    def run(self, call: ToolCall, *, seed: int = 0) -> ToolReply:
        """Carry out one call of a policy. Raises nothing: whatever happens is a reply.

        Arguments are validated before the body runs, and defaults filled in; the body does not run when they do not
        fit. The reply's status is what `fault` says; content of "ok" is what the function returned, a string as it is
        and anything else as JSON, and what JSON cannot say is an infra_error. Where it returned `Billed`, its value.

        Args:
            call: its id is passed on, to the reply and to a parameter of type ToolContext.
            seed: handed to such a parameter too.

        Returns:
            content of at most `max_chars` characters without lone surrogates; `seconds` of wall time, or as billed
            where the status is "ok", and `cost` of all tries and what is billed, without cost if invalid.
        """
        tries = self._tries(call, seed)
        said: CallOutcome | Billed | None = None
        while True:
            try:
                work = tries.send(said)
            except StopIteration as over:
                return over.value
            try:
                with self.limit or contextlib.nullcontext():
                    said = self._carry_out(work)
            except BaseException as error:
                said = fault.of_error(error, name=self.schema.name, timeout=self.timeout)

    async def arun(self, call: ToolCall, *, seed: int = 0, threads: Threads) -> ToolReply:
        """Carry out one call as `run` does, from an event loop and without blocking it: a coroutine function on that
        loop, any other in one of `threads`. Waiting for a thread or for `limit` takes nothing from the timeout.

        Raises:
            asyncio.CancelledError: the task that waits for the reply was cancelled; so was the function, or its
                thread is given up.
        """
        tries = self._tries(call, seed)
        said: CallOutcome | Billed | None = None
        while True:
            try:
                work = tries.send(said)
            except StopIteration as over:
                return over.value
            try:
                if self._async:
                    said = as_bill(await threads.wait(work, seconds=self.timeout, limit=self.limit))
                else:
                    said = await threads.run(lambda: as_bill(work()), seconds=self.timeout, limit=self.limit)  # noqa: B023
            except BaseException as error:
                task = asyncio.current_task()
                if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                    raise
                said = fault.of_error(error, name=self.schema.name, timeout=self.timeout)

    def _tries(self, call: ToolCall, seed: int) -> Generator[Callable[[], Any], Any, ToolReply]:
        """Yields every try, receives what came of it, a bill where it is ok, and returns the reply."""
        if self.unbound:
            raise ToolDefinitionError(f"{self!r} is a method: take it from an object, as in notes.write")
        begin, tried = time.perf_counter(), 0
        while True:
            try:
                work = self.prepare(call, seed=seed, tried=tried)
            except ValidationError as error:
                return self._reply(call, fault.misfit(error, name=self.schema.name), begin, tried)
            said = yield work
            tried += 1
            bill = said if isinstance(said, Billed) else NOTHING
            outcome = CallOutcome("ok", said.value) if isinstance(said, Billed) else said
            if tried > self.retries or not fault.machinery(outcome.status, timeout_is=self.timeout_is):
                return self._reply(call, outcome, begin, tried, bill)

    def prepare(self, call: ToolCall, *, seed: int, tried: int = 0) -> Callable[[], Any]:
        """The function with the arguments of a call. Raises pydantic's ValidationError when they do not fit.

        Args:
            call: what the policy wrote.
            seed: for a parameter of type ToolContext.
            tried: how many times this call was tried before; for a subclass that minds.
        """
        del tried
        valid = self.definition.arguments.model_validate(dict(call.arguments))
        arguments = dict(zip(self.definition.parameters, (value for _, value in valid), strict=True))
        if self.definition.context is not None:
            arguments[self.definition.context] = ToolContext(call.id, seed)
        return functools.partial(self.__call__, **arguments)

    def takes(self, call: ToolCall) -> bool:
        """Whether the arguments of a call fit, so that the function would be called. The name is not looked at."""
        try:
            self.prepare(call, seed=0)
        except ValidationError:
            return False
        return True

    def _carry_out(self, work: Callable[[], Any]) -> Billed:
        if self._async:
            return as_bill(within_async(work, seconds=self.timeout))
        return as_bill(work() if self.timeout is None else within(work, seconds=self.timeout))

    def _reply(
        self, call: ToolCall, outcome: CallOutcome, begin: float, tried: int, bill: Billed = NOTHING
    ) -> ToolReply:
        text = truncate(outcome.content, limit=self.max_chars, drop=self.drop)
        text = text.encode(errors="replace").decode()
        seconds = time.perf_counter() - begin if bill.seconds is None else bill.seconds
        return ToolReply(call.id, call.name, text, outcome.status, seconds, self.cost * tried + bill.cost)


@overload
def tool(function: Callable[..., Any], /) -> Tool:
    """As `@tool`."""


@overload
def tool(
    *,
    name: str | None = None,
    timeout: float | None = 30.0,
    timeout_is: TimeoutIs = "infra_error",
    cost: float = 0.0,
    max_chars: int = 10_000,
    drop: Drop = "middle",
    limit: int | Limit | None = None,
    retries: int = 0,
) -> Callable[[Callable[..., Any]], Tool]:
    """As `@tool(...)`."""


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    timeout: float | None = 30.0,
    timeout_is: TimeoutIs = "infra_error",
    cost: float = 0.0,
    max_chars: int = 10_000,
    drop: Drop = "middle",
    limit: int | Limit | None = None,
    retries: int = 0,
) -> Any:
    """Make a tool of a typed function (or method, or coroutine function) with a docstring.

    The signature gives the JSON schema, the docstring the description; `Annotated[str, "..."]` describes one
    parameter. The function returns, or raises `Retry` (the policy may try again) or `Failed` (it should not). It may
    return `Billed`, where a call has a price or a time of its own; a call that raises has wall time, and no such price.
    A method's first parameter is called `self`.

    Args:
        name: what the policy calls it; default the function's name.
        timeout: seconds a try may take; None: as long as the caller allows (`run` makes the call in its own
            thread, without end). A function that hangs is left behind in a daemon thread; a coroutine is cancelled.
            In a rollout all async tools share an event loop; `run` makes one for each call.
        timeout_is: whose fault a timeout is. "infra_error" ends the trajectory unscored; "policy" tells the policy.
        cost: of one call, in a unit of your choice.
        max_chars: most characters of a reply, >= 0.
        drop: which part of a longer reply is cut: head, middle or tail.
        limit: most calls at the same time, over all rollouts; None: no limit. A number belongs to the decorated
            function: one that every rollout's factory decorates anew has a limit in each. A `Limit` is shared by all
            tools given it. A blocking function left behind at its timeout no longer counts, though its thread runs on.
        retries: further tries, with the same call id and seed, when a try died (infra_error, or a timeout that is not
            the policy's). One that timed out may still be at work beside the next.

    Returns:
        A Tool, or a decorator that makes one.

    Raises:
        ToolDefinitionError: no docstring, a parameter without a type, a bad name; it says which and how to fix it.
        InputError: a timeout that is not above 0, a limit below 1, a negative cost, max_chars or retries.

    Example:
        @tool
        def double(number: int) -> int:
            "Double a whole number."
            return 2 * number

        double.run(ToolCall("double", {"number": 4}, "c0")) replies "8"; double(4) is still 8.
    """
    if timeout is not None and not timeout > 0:
        raise InputError(f"a timeout of {timeout} seconds leaves no time; give more than 0, or None for no limit")
    if cost < 0 or max_chars < 0 or retries < 0:
        raise InputError(f"cost, max_chars and retries cannot be negative: they are {cost}, {max_chars}, {retries}")
    if isinstance(limit, int) and limit < 1:
        raise InputError(f"a limit of {limit} calls at a time lets none through; give 1 or more, or None for no limit")

    def make(target: Callable[..., Any]) -> Tool:
        if not inspect.isfunction(target):
            raise ToolDefinitionError(f"{target!r} is no function: decorate a function or method (below @staticmethod)")
        first = next(iter(inspect.signature(target).parameters.values()), None)
        method = first is not None and first.name == "self" and first.annotation is first.empty
        return Tool(
            target,
            define(target, name=name, method=method),
            timeout=timeout,
            timeout_is=timeout_is,
            cost=cost,
            max_chars=max_chars,
            drop=drop,
            method=method,
            limit=Limit(limit) if isinstance(limit, int) else limit,
            retries=retries,
        )

    return make if function is None else make(function)
