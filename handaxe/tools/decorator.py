"""Decorator that makes a tool from a typed function with a docstring."""

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
from handaxe.core.images import Image
from handaxe.core.records import ToolCall, ToolReply, ToolSchema
from handaxe.tools import fault
from handaxe.tools.deadline import Threads, run_async_with_deadline, run_with_deadline
from handaxe.tools.definition import Billed, Definition, ToolContext, define
from handaxe.tools.fault import CallOutcome, TimeoutIs
from handaxe.tools.text import Content, to_billed
from handaxe.tools.thread_pool import Limit
from handaxe.tools.truncate import Drop, truncate_content

__all__ = ["Tool", "tool"]

NOTHING = Billed(Content(""))


class Tool:
    """Function with a schema that a policy can call. Calling the object calls the function.

    Made by `tool`. On a method it is a descriptor: `notes.write` is the tool bound to the object, its `owner`. The
    state of a method is the state of the object.
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
        max_images: int = 8,
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
        self.max_chars, self.max_images = max_chars, max_images
        self.drop = drop
        functools.update_wrapper(self, function)

    @property
    def schema(self) -> ToolSchema:
        """Return the name, description and parameters shown to a policy."""
        return self.definition.schema

    @property
    def unbound(self) -> bool:
        """Test whether the tool is a method without an object, which cannot run."""
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
        """Copy the tool with another `max_chars` and cost, and a prefix before the name."""
        changed = copy.copy(self)
        changed.max_chars = max_chars
        changed.cost = cost
        changed.definition = self.definition.prefixed(prefix)
        return changed

    @property
    def __call__(self) -> Callable[..., Any]:
        """Return the function, bound to the owner if it is a method. Python calls the returned function."""
        bound = self.method and self.owner is not None
        return functools.partial(self.function, self.owner) if bound else self.function

    def run(self, call: ToolCall, *, seed: int = 0, images: tuple[Image, ...] = ()) -> ToolReply:
        """Run a policy's call. Never raises: every outcome becomes a reply.

        Arguments are validated and defaults filled in before the body runs; invalid arguments skip the body.
        `tools.fault` defines the status. The content of "ok" is the returned value: a string unchanged, another value
        as JSON; a value that JSON cannot represent is an infra_error. An image becomes a placeholder in the content. A
        returned `Billed` is unwrapped.

        Args:
            call: the id is passed to the reply and to a parameter of type ToolContext.
            seed: passed to such a parameter, too.
            images: that the conversation has shown so far, in order; passed to such a parameter and, by number, to
                parameters of type Image.

        Returns:
            content of at most `max_chars` characters, placeholders not counted, without lone surrogates; `seconds` of
            wall time, or the billed seconds if the status is "ok"; `cost` of all tries plus the billed cost, 0 for
            invalid arguments.
        """
        tries = self._tries(call, seed, images)
        result: CallOutcome | Billed | None = None
        while True:
            try:
                work = tries.send(result)
            except StopIteration as finished:
                return finished.value
            try:
                with self.limit or contextlib.nullcontext():
                    result = self._run_once(work)
            except BaseException as error:
                result = fault.classify_error(error, name=self.schema.name, timeout=self.timeout)

    async def arun(
        self, call: ToolCall, *, seed: int = 0, images: tuple[Image, ...] = (), threads: Threads
    ) -> ToolReply:
        """Run a call from an event loop without blocking it; otherwise as `run`. A coroutine function runs on the loop,
        any other in one of `threads`. Waiting for a thread or for `limit` does not count against the timeout.

        Raises:
            asyncio.CancelledError: the task that awaits the reply was cancelled; the coroutine is cancelled, or the
                thread is abandoned.
        """
        tries = self._tries(call, seed, images)
        result: CallOutcome | Billed | None = None
        while True:
            try:
                work = tries.send(result)
            except StopIteration as finished:
                return finished.value
            try:
                if self._async:
                    result = to_billed(await threads.wait(work, seconds=self.timeout, limit=self.limit))
                else:
                    result = await threads.run(lambda: to_billed(work()), seconds=self.timeout, limit=self.limit)  # noqa: B023
            except BaseException as error:
                task = asyncio.current_task()
                if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                    raise
                result = fault.classify_error(error, name=self.schema.name, timeout=self.timeout)

    def _tries(
        self, call: ToolCall, seed: int, images: tuple[Image, ...]
    ) -> Generator[Callable[[], Any], Any, ToolReply]:
        """Generate the tries of a call: yields a function, receives its outcome or bill, and returns the reply."""
        if self.unbound:
            raise ToolDefinitionError(f"{self!r} is a method: access it on an object, as in notes.write")
        begin, tried = time.perf_counter(), 0
        while True:
            try:
                work = self.prepare(call, seed=seed, tried=tried, images=images)
            except ValidationError as error:
                return self._reply(call, fault.misfit(error, name=self.schema.name), begin, tried)
            result = yield work
            tried += 1
            bill = result if isinstance(result, Billed) else NOTHING
            outcome = CallOutcome("ok", *result.value) if isinstance(result, Billed) else result
            if tried > self.retries or not fault.machinery(outcome.status, timeout_is=self.timeout_is):
                return self._reply(call, outcome, begin, tried, bill)

    def prepare(
        self, call: ToolCall, *, seed: int, tried: int = 0, images: tuple[Image, ...] = ()
    ) -> Callable[[], Any]:
        """Bind the function to the arguments of a call. Raises pydantic's ValidationError for invalid arguments. A
        number without image is a Retry of the bound function.

        Args:
            call: as the policy wrote it.
            seed: for a parameter of type ToolContext.
            tried: number of earlier tries of the call; for subclasses.
            images: of the conversation so far.
        """
        del tried
        valid = self.definition.arguments.model_validate(dict(call.arguments))
        arguments = dict(zip(self.definition.parameters, (value for _, value in valid), strict=True))
        if self.definition.context is not None:
            arguments[self.definition.context] = ToolContext(call.id, seed, images)
        work = functools.partial(self.__call__, **arguments)
        if not self.definition.images:
            return work
        return functools.partial(self._with_images, work, ToolContext(call.id, seed, images))

    def _with_images(self, work: functools.partial[Any], context: ToolContext) -> Any:
        """Run the function with images in place of their numbers."""
        return work(**{name: _find_images(work.keywords[name], context) for name in self.definition.images})

    def takes(self, call: ToolCall) -> bool:
        """Test whether the arguments of a call are valid. The name is ignored."""
        try:
            self.prepare(call, seed=0)
        except ValidationError:
            return False
        return True

    def _run_once(self, work: Callable[[], Any]) -> Billed:
        if self._async:
            return to_billed(run_async_with_deadline(work, seconds=self.timeout))
        return to_billed(work() if self.timeout is None else run_with_deadline(work, seconds=self.timeout))

    def _reply(
        self, call: ToolCall, outcome: CallOutcome, begin: float, tried: int, bill: Billed = NOTHING
    ) -> ToolReply:
        text, images = truncate_content(
            outcome.content, outcome.images, limit=self.max_chars, max_images=self.max_images, drop=self.drop
        )
        text = text.encode(errors="replace").decode()
        seconds = time.perf_counter() - begin if bill.seconds is None else bill.seconds
        return ToolReply(call.id, call.name, text, outcome.status, seconds, self.cost * tried + bill.cost, images)


def _find_images(given: Any, context: ToolContext) -> Any:
    """Images of a number or a list of numbers. A default of the function stays."""
    if isinstance(given, list):
        return [_find_images(one, context) for one in given]
    return context.image(given) if isinstance(given, int) else given


@overload
def tool(function: Callable[..., Any], /) -> Tool:
    """Decorate as `@tool`."""


@overload
def tool(
    *,
    name: str | None = None,
    timeout: float | None = 30.0,
    timeout_is: TimeoutIs = "infra_error",
    cost: float = 0.0,
    max_chars: int = 10_000,
    max_images: int = 8,
    drop: Drop = "middle",
    limit: int | Limit | None = None,
    retries: int = 0,
) -> Callable[[Callable[..., Any]], Tool]:
    """Decorate as `@tool(...)`."""


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    timeout: float | None = 30.0,
    timeout_is: TimeoutIs = "infra_error",
    cost: float = 0.0,
    max_chars: int = 10_000,
    max_images: int = 8,
    drop: Drop = "middle",
    limit: int | Limit | None = None,
    retries: int = 0,
) -> Any:
    """Make a tool from a typed function, method or coroutine function with a docstring.

    The signature gives the JSON schema, the docstring the description; `Annotated[str, "..."]` describes a parameter.
    The function returns a string, an Image, a list of both, or any value with a JSON form; or it raises `Retry` (the
    policy may try again) or `Failed` (a further try is useless). A policy gives the number of an image for a parameter
    of type Image. A call with a price or time of its own returns `Billed`; a call that raises has wall time and the
    declared cost. The first parameter of a method is called `self`.

    Args:
        name: name of the tool; by default the function's name.
        timeout: seconds of a try; None for the caller's limit (`run` then uses the calling thread, without limit). A
            hanging function is abandoned in a daemon thread; a coroutine is cancelled. Async tools of a rollout share
            an event loop; `run` makes a loop for each call.
        timeout_is: status of a timeout, see `tools.fault`: "infra_error" ends the trajectory unscored, "policy" answers
            the policy.
        cost: of a call, in a unit of your choice.
        max_chars: most characters of a reply, >= 0. Placeholders of images are not counted.
        max_images: most images of a reply, >= 0; further images are left out and counted in words.
        drop: part of a longer reply that is cut: head, middle or tail.
        limit: most calls at the same time, over all rollouts; None for no limit. A number belongs to the decorated
            function: a factory that decorates in every rollout has a limit in each. A `Limit` is shared by all tools
            that receive it. A blocking function abandoned at its timeout no longer counts, although its thread runs on.
        retries: further tries, with the same call id and seed, after an infra_error or a timeout that is not the
            policy's fault. A try that timed out may still run during the next.

    Returns:
        A Tool, or a decorator that makes a Tool.

    Raises:
        ToolDefinitionError: no docstring, a parameter without a type, or a bad name; the message says how to fix it.
        InputError: a timeout that is not above 0, a limit below 1, a negative cost, max_chars, max_images or retries.

    Example:
        @tool
        def double(number: int) -> int:
            "Double a whole number."
            return 2 * number

        double.run(ToolCall("double", {"number": 4}, "c0")) replies "8"; double(4) is still 8.
    """
    if timeout is not None and not timeout > 0:
        raise InputError(f"timeout is {timeout} seconds; give more than 0, or None for no limit")
    if min(cost, max_chars, max_images, retries) < 0:
        raise InputError(
            f"cost, max_chars, max_images and retries are {cost}, {max_chars}, {max_images}, {retries}; none may be "
            "negative"
        )
    if isinstance(limit, int) and limit < 1:
        raise InputError(f"limit is {limit} calls at a time; give 1 or more, or None for no limit")

    def make(target: Callable[..., Any]) -> Tool:
        if not inspect.isfunction(target):
            raise ToolDefinitionError(f"{target!r} is no function: decorate a function or method, below @staticmethod")
        first = next(iter(inspect.signature(target).parameters.values()), None)
        method = first is not None and first.name == "self" and first.annotation is first.empty
        return Tool(
            target,
            define(target, name=name, method=method),
            timeout=timeout,
            timeout_is=timeout_is,
            cost=cost,
            max_chars=max_chars,
            max_images=max_images,
            drop=drop,
            method=method,
            limit=Limit(limit) if isinstance(limit, int) else limit,
            retries=retries,
        )

    return make if function is None else make(function)
