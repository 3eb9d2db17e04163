"""Makes a tool of a JSON schema that came from elsewhere, such as an MCP server, and a callable."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from handaxe.core.errors import InputError, ToolDefinitionError
from handaxe.core.records import ToolSchema
from handaxe.tools.decorator import Tool, tool
from handaxe.tools.fault import TimeoutIs
from handaxe.tools.schema import NAME, Definition, ToolContext
from handaxe.tools.threads import Limit

try:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import extend, validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable
except ImportError as error:
    raise InputError("tools from JSON schemas need jsonschema: install it with pip install 'handaxe[mcp]'") from error

__all__ = ["Carry", "declared"]

Carry = Callable[[dict[str, Any], ToolContext], str | Awaitable[str]]
"""Carries out one call: (validated arguments, context) -> what the policy reads. May be a coroutine function."""
PROBLEMS = 5
"""Most complaints about one call's arguments."""


def declared(
    schema: ToolSchema,
    carry: Carry,
    *,
    owner: Any = None,
    timeout: float | None = 30.0,
    timeout_is: TimeoutIs = "infra_error",
    cost: float = 0.0,
    max_chars: int = 10_000,
    limit: int | Limit | None = None,
    retries: int = 0,
) -> Tool:
    """Make a tool of a JSON schema and a callable.

    A call's arguments are validated against the schema before `carry` runs, by the rules of the draft the schema names
    (2020-12 unless told otherwise). Regular expressions (`pattern`, `patternProperties`) are not run: the schema may
    come from a stranger, and one that never ends would hold up the process. References lead nowhere but into the
    schema itself. A schema that cannot be followed, for such a reason, lets the arguments pass: the side that declared
    it checks them again. Defaults are not filled in.

    Args:
        schema: what the policy is told; `parameters` is a JSON schema of type object.
        carry: function or coroutine function of (arguments, ToolContext); returns text, or raises Retry or Failed.
        owner: the object that holds the tool's state; an environment closes it once. None: there is no state.
        timeout, timeout_is, cost, max_chars, limit, retries: as of `tool`. A factory that every rollout calls makes one
            `Limit` and passes that; a number would be a limit in each rollout.

    Returns:
        A Tool.

    Raises:
        ToolDefinitionError: a name that no policy can write, or parameters that are no JSON schema of type object.
        InputError: as `tool`.

    Example:
        shout = declared(ToolSchema("shout", "Say it loud.", {"type": "object"}), lambda given, context: "HEY")
    """
    if not NAME.fullmatch(schema.name):
        raise ToolDefinitionError(f"{schema.name[:80]!r} cannot name a tool: letters, digits, _ and -, at most 64")
    make = tool(timeout=timeout, timeout_is=timeout_is, cost=cost, max_chars=max_chars, limit=limit, retries=retries)
    made = make(_awaiting(carry) if inspect.iscoroutinefunction(carry) else _calling(carry))
    made.definition = Definition(schema, _arguments_model(schema), ("arguments",), "context")
    made.owner = owner
    return made


def _awaiting(carry: Carry) -> Callable[..., Any]:
    async def call(arguments: dict, context: ToolContext) -> Any:
        """Carry out one call."""
        return await carry(arguments, context)  # type: ignore[misc]

    return call


def _calling(carry: Carry) -> Callable[..., Any]:
    def call(arguments: dict, context: ToolContext) -> Any:
        """Carry out one call."""
        return carry(arguments, context)

    return call


def _arguments_model(schema: ToolSchema) -> type[BaseModel]:
    """A model with one field, all arguments, that validates them by the schema."""
    validator = _validator(schema)

    class Arguments(BaseModel):
        """What a policy wrote."""

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
        raise ToolDefinitionError(f"the parameters of tool {schema.name!r} are no JSON schema of type object")
    kind = validator_for(parameters, default=Draft202012Validator)
    try:
        kind.check_schema(parameters)
    except (SchemaError, RecursionError) as error:
        what = error.message[:200] if isinstance(error, SchemaError) else "it is nested too deep"
        raise ToolDefinitionError(f"the parameters of tool {schema.name!r} are no JSON schema: {what}") from None
    follow = kind.VALIDATORS["$ref"]

    def bounded(*given: Any) -> Iterator[Any]:
        STEPS.get().spend()
        yield from follow(*given)

    # Without a registry of its own a validator fetches references from the network.
    return extend(kind, {"$ref": bounded})({"type": "object", **_without_patterns(parameters)}, registry=Registry())


class _Steps:
    """How many references one validation may still follow: those of a hostile schema can double at every level."""

    def __init__(self) -> None:
        self.left = 1_000

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise RecursionError


STEPS: ContextVar[_Steps] = ContextVar("STEPS")


def _without_patterns(schema: Any, named: bool = False) -> Any:
    """The schema without regular expressions. `named`: the keys of this dict are names, not keywords."""
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
    """What is wrong with the arguments, at most PROBLEMS complaints; none where the schema cannot be followed."""
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
