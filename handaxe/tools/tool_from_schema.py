"""Tools from a JSON schema and a callable, such as the tools of an MCP server."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from handaxe.core.errors import InputError, ToolDefinitionError
from handaxe.core.images import Image
from handaxe.core.records import ToolSchema
from handaxe.tools.decorator import Tool, tool
from handaxe.tools.definition import NAME, Definition, ToolContext
from handaxe.tools.fault import TimeoutIs
from handaxe.tools.thread_pool import Limit

try:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import extend, validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable
except ImportError as error:
    raise InputError("tools from JSON schemas need jsonschema: install it with pip install 'handaxe[mcp]'") from error

__all__ = ["CallHandler", "tool_from_schema"]

Content = str | list[str | Image]
CallHandler = Callable[[dict[str, Any], ToolContext], Content | Awaitable[Content]]
"""Runs a call: (validated arguments, context) -> the reply's text and images. May be a coroutine function."""
PROBLEMS = 5
"""Most validation errors reported for one call."""


def tool_from_schema(
    schema: ToolSchema,
    handler: CallHandler,
    *,
    owner: Any = None,
    timeout: float | None = 30.0,
    timeout_is: TimeoutIs = "infra_error",
    cost: float = 0.0,
    max_chars: int = 10_000,
    max_images: int = 8,
    limit: int | Limit | None = None,
    retries: int = 0,
) -> Tool:
    """Make a tool from a JSON schema and a callable.

    A call's arguments are validated before `handler` runs, by the draft that the schema names (2020-12 by default).
    Regular expressions (`pattern`, `patternProperties`) are skipped, because a hostile expression could block the
    process. References are resolved only inside the schema. If a schema cannot be followed, for example because of such
    a reference, the arguments
    pass: the declaring side checks them again. Defaults are not filled in.

    Args:
        schema: shown to the policy; `parameters` is a JSON schema of type object.
        handler: function or coroutine function of (arguments, ToolContext); returns text, an image or a list of both,
            or raises Retry or Failed.
        owner: object with the tool's state; an environment closes it once. None for a stateless tool.
        timeout, timeout_is, cost, max_chars, max_images, limit, retries: as in `tool`. A factory that every rollout
            calls passes one shared `Limit`; a number would limit each rollout separately.

    Returns:
        A Tool.

    Raises:
        ToolDefinitionError: the name is not a tool name, or the parameters are not a JSON schema of type object.
        InputError: as in `tool`.

    Example:
        shout = tool_from_schema(ToolSchema("shout", "Say it loud.", {"type": "object"}), lambda given, context: "HEY")
    """
    if not NAME.fullmatch(schema.name):
        raise ToolDefinitionError(f"{schema.name[:80]!r} is no tool name: use letters, digits, _ and -, at most 64")
    make = tool(
        timeout=timeout,
        timeout_is=timeout_is,
        cost=cost,
        max_chars=max_chars,
        max_images=max_images,
        limit=limit,
        retries=retries,
    )
    made = make(_async_call(handler) if inspect.iscoroutinefunction(handler) else _sync_call(handler))
    made.definition = Definition(schema, _arguments_model(schema), ("arguments",), "context")
    made.owner = owner
    return made


def _async_call(handler: CallHandler) -> Callable[..., Any]:
    async def call(arguments: dict, context: ToolContext) -> Any:
        """Carry out one call."""
        return await handler(arguments, context)  # type: ignore[misc]

    return call


def _sync_call(handler: CallHandler) -> Callable[..., Any]:
    def call(arguments: dict, context: ToolContext) -> Any:
        """Carry out one call."""
        return handler(arguments, context)

    return call


def _arguments_model(schema: ToolSchema) -> type[BaseModel]:
    """Make a model with a single field for all arguments, validated by the schema."""
    validator = _validator(schema)

    class Arguments(BaseModel):
        """Arguments of a call."""

        arguments: dict[str, Any]

        @classmethod
        def model_validate(cls, obj: Any) -> Any:  # type: ignore[override]
            problems = _problems(validator, obj)
            if problems:
                raise ValidationError.from_exception_data(schema.name, problems)
            return cls.model_construct(arguments=dict(obj))

    return Arguments


def _validator(schema: ToolSchema) -> Any:
    parameters = dict(schema.parameters)
    if parameters.get("type", "object") != "object":
        raise ToolDefinitionError(f"the parameters of tool {schema.name!r} are not a JSON schema of type object")
    kind = validator_for(parameters, default=Draft202012Validator)
    try:
        kind.check_schema(parameters)
    except (SchemaError, RecursionError) as error:
        problem = error.message[:200] if isinstance(error, SchemaError) else "it is nested too deep"
        raise ToolDefinitionError(f"the parameters of tool {schema.name!r} are not a JSON schema: {problem}") from None
    follow = kind.VALIDATORS["$ref"]

    def bounded(*given: Any) -> Iterator[Any]:
        STEPS.get().spend()
        yield from follow(*given)

    # Without a registry argument, a validator fetches references from the network.
    return extend(kind, {"$ref": bounded})({"type": "object", **_without_patterns(parameters)}, registry=Registry())


class _Steps:
    """Budget of references that a validation may follow; references of a hostile schema can double at every level."""

    def __init__(self) -> None:
        self.left = 1_000

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise RecursionError


STEPS: ContextVar[_Steps] = ContextVar("STEPS")


def _without_patterns(schema: Any, named: bool = False) -> Any:
    """Remove regular expressions from a schema. `named`: the keys of this dict are names, not keywords."""
    if isinstance(schema, list):
        return [_without_patterns(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    loose = {"pattern", "patternProperties"}
    if "patternProperties" in schema:
        loose |= {"additionalProperties", "unevaluatedProperties"}
    return {
        key: value
        if key in ("default", "enum", "const", "examples") and not named
        else _without_patterns(value, named=not named and key in ("properties", "$defs", "definitions"))
        for key, value in schema.items()
        if named or key not in loose
    }


def _problems(validator: Any, given: Any) -> list[InitErrorDetails]:
    """List the validation errors, at most PROBLEMS; none if the schema cannot be followed."""
    STEPS.set(_Steps())
    try:
        found = list(itertools.islice(validator.iter_errors(given), PROBLEMS))
    except (Unresolvable, RecursionError):
        return []
    return [
        InitErrorDetails(
            type=PydanticCustomError("schema", "{what}", {"what": problem.message[:300]}),
            loc=tuple(problem.absolute_path),
            input=None,
        )
        for problem in found
    ]
