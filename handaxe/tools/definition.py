"""Definition of a tool: the schema read from a function's signature and docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from docstring_parser import parse as parse_docstring
from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError

from handaxe.core.errors import Retry, ToolDefinitionError
from handaxe.core.images import Image
from handaxe.core.records import ToolSchema

__all__ = ["Billed", "Definition", "ToolContext", "check_names", "define"]

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
Number = Annotated[int, Field(ge=1)]
"""Argument of a policy for a parameter of type Image."""
NUMBERS = ((Image, Number), (Image | None, Number | None), (list[Image], list[Number]))
"""Types of parameters that take images, and the types of the arguments."""
NUMBERED = "number of an image of the conversation, from 1"


class ToolContext(NamedTuple):
    """Facts about a call for a parameter of type ToolContext, hidden from the policy.

    call_id: unique within the rollout; ids repeat in other rollouts.
    seed: derived from (run, step, task, sample, turn, call), the only source of randomness that a tool should use.
    images: every image that the conversation has shown so far, in order.
    """

    call_id: str
    seed: int
    images: tuple[Image, ...] = ()

    @property
    def key(self) -> str:
        """Return a key of the call, unique over all rollouts and equal for all tries, for idempotent services.

        The key is the call id and the seed. Rollouts share keys only if their seeds are equal: never within `train` or
        `evaluate`, but in two runs of one seed, of which the second repeats the first.
        """
        return f"{self.call_id}-{self.seed:016x}"

    def image(self, number: int = 1) -> Image:
        """Return an image of the conversation by its number, from 1.

        Raises:
            Retry: there is no such image; the policy reads how many there are.
        """
        count = len(self.images)
        if 1 <= number <= count:
            return self.images[number - 1]
        shown = "no image was shown so far" if not count else f"{count} image{'s were' if count > 1 else ' was'} shown"
        raise Retry(f"there is no image {number}: {shown}")


class Billed(NamedTuple):
    """Return value of a tool with a price or time for a single call.

    value: the reply, as if returned without `Billed`.
    cost: added to the declared cost of each try, in the same unit.
    seconds: recorded instead of wall time, so that the time is equal in every run. None for wall time.

    Only a returned value can be billed: a call that raises or has invalid arguments costs the declared cost and takes
    wall time. To bill a refusal, return the refusal as `Billed` instead of raising `Retry`.

    Example:
        Billed("408", cost=0.3, seconds=2.0) of a tool with cost=1.0 is the reply "408" of cost 1.3 and 2 seconds
    """

    value: Any
    cost: float = 0.0
    seconds: float | None = None


class Definition(NamedTuple):
    """Schema and argument model of a tool.

    arguments: pydantic model that validates a call's arguments, one field a parameter, by alias.
    parameters: names of the parameters, in the order of the fields p0, p1, ...
    context: name of the parameter of type ToolContext, or None.
    images: names of the parameters that take images; their arguments are numbers of images.
    """

    schema: ToolSchema
    arguments: type[BaseModel]
    parameters: tuple[str, ...]
    context: str | None
    images: tuple[str, ...] = ()

    def prefixed(self, prefix: str) -> Definition:
        """Copy the definition with a prefix before the name. Raises ToolDefinitionError for an invalid name."""
        return self._replace(schema=replace(self.schema, name=_check_name(prefix + self.schema.name)))


def define(function: Callable[..., Any], *, name: str | None = None, method: bool = False) -> Definition:
    """Read the definition of a tool from its function.

    Args:
        function: typed, with a docstring. Parameters are described by `Annotated[str, "..."]`, else pydantic's
            `Field(description=...)`, else the docstring (Google, numpy, reST or epydoc style). A policy names the image
            for a parameter of type Image, Image | None or list[Image] by number, see `ToolContext.image`.
        name: name of the tool; by default the function's name.
        method: the first parameter is `self`.

    Raises:
        ToolDefinitionError: the docstring is missing, or a parameter has no type, is of a kind that no JSON object can
            fill, or is described in the docstring and does not exist; the message has the parameter.
    """
    name = _check_name(name or function.__name__)
    doc = parse_docstring(inspect.getdoc(function) or "")
    if not doc.short_description:
        raise ToolDefinitionError(f"tool {name!r} has no docstring: write one, the policy reads it as the description")
    described = {item.arg_name: item.description or "" for item in doc.params}
    signature = list(inspect.signature(function).parameters.values())[1 if method else 0 :]
    hints = _hints(function, name)
    context = [p.name for p in signature if hints.get(p.name) is ToolContext]
    parameters = [p for p in signature if p.name not in context]
    hints, images = _numbered(hints)
    fields: dict[str, Any] = {}
    for number, parameter in enumerate(parameters):
        if parameter.name in images:
            described[parameter.name] = ", ".join(filter(None, (described.get(parameter.name), NUMBERED)))
        fields[f"p{number}"] = _field(name, parameter, hints, described.get(parameter.name, ""))
    unknown = set(described) - {p.name for p in signature}
    if unknown:
        raise ToolDefinitionError(
            f"the docstring of tool {name!r} describes unknown parameters {sorted(unknown)}; its parameters are "
            f"{[p.name for p in parameters]}: rename or remove them"
        )
    description = "\n\n".join(part for part in (doc.short_description, doc.long_description) if part)
    arguments, schema = _model(name, fields)
    return Definition(
        ToolSchema(name, description, schema),
        arguments,
        tuple(p.name for p in parameters),
        context[0] if context else None,
        images,
    )


def check_names(schemas: Sequence[ToolSchema]) -> None:
    """Check that tool names are unique.

    Raises:
        ToolDefinitionError: two tools share a name; the message lists the names.
    """
    names = [schema.name for schema in schemas]
    duplicates = sorted({name for name in names if names.count(name) > 1})
    if duplicates:
        raise ToolDefinitionError(
            f"several tools are called {duplicates}: rename your own with @tool(name=...), and tools of python, "
            "cpython, sql, search, http, files and mcp with prefix=, as in sql(path, prefix='old_')"
        )


def _check_name(name: str) -> str:
    if not NAME.fullmatch(name):
        raise ToolDefinitionError(
            f"{name[:80]!r} is no tool name: use a letter or _, then letters, digits, _ or -, at most 64 in all"
        )
    return name


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        raise ToolDefinitionError(
            f"the types of tool {name!r} cannot be read ({error}): define {error.name!r} at the top level of the module"
        ) from error


def _numbered(hints: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Replace types of images by types of numbers; returns the names of these parameters, too."""
    found = dict(hints)
    for name, hint in hints.items():
        plain, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        number = next((number for kind, number in NUMBERS if plain == kind), None)
        if number is not None:
            described = [f"{extra}, {NUMBERED}" if isinstance(extra, str) else extra for extra in extras]
            found[name] = Annotated[number, *described] if described else number
    return found, tuple(name for name in hints if found[name] is not hints[name] and name != "return")


def _field(tool: str, parameter: inspect.Parameter, hints: Mapping[str, Any], described: str) -> tuple[Any, Any]:
    """Make the pydantic field of a parameter."""
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise ToolDefinitionError(
            f"parameter {parameter.name!r} of tool {tool!r} is {parameter.kind.description} and cannot be filled by "
            "name: declare each parameter"
        )
    if parameter.name not in hints:
        raise ToolDefinitionError(
            f"parameter {parameter.name!r} of tool {tool!r} has no type: write for example `{parameter.name}: str`"
        )
    hint = hints[parameter.name]
    if get_origin(hint) is Annotated:
        texts = [extra for extra in get_args(hint)[1:] if isinstance(extra, str)]
        described = texts[0] if texts else described
    required = parameter.default is parameter.empty
    default = ... if required else parameter.default
    # None must not overwrite a description by pydantic's Field(description=...) inside Annotated.
    if described:
        return hint, Field(default, alias=parameter.name, description=described)
    return hint, Field(default, alias=parameter.name)


def _model(name: str, fields: dict[str, Any]) -> tuple[type[BaseModel], dict[str, Any]]:
    config = ConfigDict(extra="forbid")
    try:
        model = create_model(name, __config__=config, **fields)
        schema = model.model_json_schema(by_alias=True)
    except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema) as error:
        message = str(error).splitlines()[0]
        raise ToolDefinitionError(f"tool {name!r} has a parameter of a type without JSON schema: {message}") from error
    return model, _without_titles(schema)


def _without_titles(schema: Any, named: bool = False) -> Any:
    """Remove pydantic's titles from a schema. `named`: the keys of this dict are names, not keywords."""
    if isinstance(schema, list):
        return [_without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value
        if key in ("default", "enum", "const") and not named
        else _without_titles(value, named=not named and key in ("properties", "$defs"))
        for key, value in schema.items()
        if named or key != "title"
    }
