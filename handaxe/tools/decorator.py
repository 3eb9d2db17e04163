"""Makes a tool of a typed function with a docstring."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import time
import traceback
from collections.abc import Callable
from typing import Any, Literal, overload

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_json

from handaxe.errors import Failed, InputError, Retry, ToolDefinitionError
from handaxe.records import Status, ToolCall, ToolReply, ToolSchema
from handaxe.tools.deadline import DeadlineError, within, within_async
from handaxe.tools.schema import Definition, ToolContext, define
from handaxe.tools.truncate import Drop, truncate

__all__ = ["Tool", "tool"]

TimeoutIs = Literal["infra_error", "policy"]


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
    ):
        self.function, self.definition, self.method = function, definition, method
        self.owner: Any = None
        self.timeout, self.timeout_is = timeout, timeout_is
        self.cost, self.max_chars, self.drop = cost, max_chars, drop
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

    def but(self, *, max_chars: int, cost: float) -> Tool:
        """The same tool with another limit and cost."""
        changed = copy.copy(self)
        changed.max_chars, changed.cost = max_chars, cost
        return changed

    @property
    def __call__(self) -> Callable[..., Any]:
        """The function, bound to the owner if it is a method. Python calls what this property gives."""
        bound = self.method and self.owner is not None
        return functools.partial(self.function, self.owner) if bound else self.function

    def run(self, call: ToolCall, *, seed: int = 0) -> ToolReply:
        """Carry out one call of a policy. Raises nothing: whatever happens is a reply.

        Arguments are validated before the body runs, and defaults filled in. The reply's status is

            ok           content is what the function returned: a string as it is, anything else as JSON
            retry        it raised Retry, failed: it raised Failed; content is the message
            invalid      the arguments do not fit; content says which and why; the body did not run
            timeout      it gave no reply in time
            infra_error  it raised anything else, or returned what JSON cannot say; content is for the record only

        Args:
            call: its id is passed on, to the reply and to a parameter of type ToolContext.
            seed: handed to such a parameter too.

        Returns:
            content of at most `max_chars` characters without lone surrogates; `seconds` of wall time; `cost` unless
            invalid.
        """
        if self.unbound:
            raise ToolDefinitionError(
                f"tool {self.schema.name!r} is a method: take it from an object, as in notes.write"
            )
        begin = time.perf_counter()
        try:
            arguments = self._arguments(call, seed)
        except ValidationError as error:
            return self._reply(call, "invalid", f"invalid arguments for {self.schema.name}: {_explain(error)}", begin)
        status: Status = "ok"
        try:
            content = _as_text(self._carry_out(arguments))
        except Retry as error:
            status, content = "retry", str(error)
        except Failed as error:
            status, content = "failed", str(error)
        except DeadlineError:
            status, content = "timeout", f"{self.schema.name} gave no reply within {self.timeout:g} seconds"
        # A tool that calls sys.exit, or whose task is cancelled from inside, must not take the run along.
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            status, content = "infra_error", "".join(traceback.format_exception_only(error)).strip()
        return self._reply(call, status, content, begin)

    def _arguments(self, call: ToolCall, seed: int) -> dict[str, Any]:
        valid = self.definition.arguments.model_validate(dict(call.arguments))
        values = [value for _, value in valid]
        arguments = dict(zip(self.definition.parameters, values, strict=True))
        if self.definition.context is not None:
            arguments[self.definition.context] = ToolContext(call.id, seed)
        return arguments

    def _carry_out(self, arguments: dict[str, Any]) -> Any:
        def work() -> Any:
            return self(**arguments)

        if inspect.iscoroutinefunction(self.function):
            return within_async(work, seconds=self.timeout)
        return work() if self.timeout is None else within(work, seconds=self.timeout)

    def _reply(self, call: ToolCall, status: Status, content: str, begin: float) -> ToolReply:
        text = truncate(content, limit=self.max_chars, drop=self.drop)
        text = text.encode(errors="replace").decode()
        cost = 0.0 if status == "invalid" else self.cost
        return ToolReply(call.id, call.name, text, status, time.perf_counter() - begin, cost)


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
) -> Any:
    """Make a tool of a typed function (or method, or coroutine function) with a docstring.

    The signature gives the JSON schema, the docstring the description; `Annotated[str, "..."]` describes one
    parameter. The function returns, or raises `Retry` (the policy may try again) or `Failed` (it should not).
    A method's first parameter is called `self`.

    Args:
        name: what the policy calls it; default the function's name.
        timeout: seconds a call may take; None: the call is made in the caller's thread and may take for ever. A
            function that hangs is left behind in a daemon thread; a coroutine is cancelled. An async tool has a new
            event loop for each call.
        timeout_is: whose fault a timeout is. "infra_error" ends the trajectory unscored; "policy" tells the policy.
        cost: of one call, in a unit of your choice.
        max_chars: most characters of a reply, >= 0.
        drop: which part of a longer reply is cut: head, middle or tail.

    Returns:
        A Tool, or a decorator that makes one.

    Raises:
        ToolDefinitionError: no docstring, a parameter without a type, a bad name; it says which and how to fix it.
        InputError: a timeout that is not above 0, a negative cost or max_chars.

    Example:
        @tool
        def double(number: int) -> int:
            "Double a whole number."
            return 2 * number

        double.run(ToolCall("double", {"number": 4}, "c0")) replies "8"; double(4) is still 8.
    """
    if timeout is not None and not timeout > 0:
        raise InputError(f"a timeout of {timeout} seconds leaves no time; give more than 0, or None for no limit")
    if cost < 0 or max_chars < 0:
        raise InputError(f"cost and max_chars cannot be negative, they are {cost} and {max_chars}")

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
        )

    return make if function is None else make(function)


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return to_json(value, inf_nan_mode="strings").decode()
    except PydanticSerializationError as error:
        raise InputError(f"the tool returned a {type(value).__name__}, which is neither text nor JSON") from error


def _explain(error: ValidationError) -> str:
    """What is wrong with the arguments, at most five complaints."""
    lines = []
    for problem in error.errors(include_url=False, include_context=False, include_input=False)[:5]:
        place = ".".join(str(part) for part in problem["loc"]) or "arguments"
        what = "there is no such parameter" if problem["type"] == "extra_forbidden" else problem["msg"]
        lines.append(f"{place}: {what}")
    return "; ".join(lines)
