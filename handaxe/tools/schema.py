"""Makes the schema of a tool from its signature and docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from docstring_parser import parse as parse_docstring
from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError

from handaxe.core.errors import ToolDefinitionError
from handaxe.core.records import ToolSchema

__all__ = ["Billed", "Definition", "ToolContext", "check_names", "define"]

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


class ToolContext(NamedTuple):
    """What the library tells a tool that has a parameter of this type; the policy neither sees nor fills it.

    call_id: unique within the rollout; another rollout has the same ids.
    seed: derived from (run, step, task, sample, turn, call), the only randomness a tool should use.
    """

    call_id: str
    seed: int

    @property
    def key(self) -> str:
        """The call among those of all rollouts, and the same for all its tries, so that it can be carried out once.

        It is the call id and the seed. Two rollouts share keys only if their attempts have the same seed: in `train`
        and `evaluate` none have, but two runs of one seed do, of which the second is the first once more.
        """
        return f"{self.call_id}-{self.seed:016x}"


class Billed(NamedTuple):
    """What a tool returns in the place of a plain value where a call has a price, or a time, of its own.

    value: what the policy reads, as if it had been returned alone.
    cost: added to what the tool declares for every try, in the same unit.
    seconds: the call's declared time; it stands in the reply in the place of wall time, so that it is the same in every
        run. None: wall time.

    Only what is returned can be billed: a call that raises, or whose arguments do not fit, costs what its tool declares
    and takes wall time. A tool whose refusals have a price returns them, billed, instead of raising `Retry`.

    Example:
        Billed("408", cost=0.3, seconds=2.0) of a tool with cost=1.0 is the reply "408" of cost 1.3 and 2 seconds
    """

    value: Any
    cost: float = 0.0
    seconds: float | None = None


class Definition(NamedTuple):
    """A tool as its function declares it.

    arguments: a pydantic model that validates what a policy wrote, one field a parameter, by alias.
    parameters: the names of those parameters, in the order of the fields p0, p1, ...
    context: the name of the parameter of type ToolContext, or None.
    """

    schema: ToolSchema
    arguments: type[BaseModel]
    parameters: tuple[str, ...]
    context: str | None

    def prefixed(self, prefix: str) -> Definition:
        """The same with a prefix before the name. Raises ToolDefinitionError when that cannot name a tool."""
        return self._replace(schema=replace(self.schema, name=_check_name(prefix + self.schema.name)))


def define(function: Callable[..., Any], *, name: str | None = None, method: bool = False) -> Definition:
    """Read the definition of a tool off its function.

    Args:
        function: typed, with a docstring. Descriptions of parameters come from `Annotated[str, "..."]`, else from
            pydantic's `Field(description=...)`, else from the docstring (Google, numpy, reST or epydoc style).
        name: what the policy calls it; default the function's name.
        method: the first parameter is `self`.

    Raises:
        ToolDefinitionError: naming the parameter that lacks a type, is of a kind no JSON object can fill, or is
            described in the docstring but does not exist; or the docstring that is missing.
    """
    name = _check_name(name or function.__name__)
    doc = parse_docstring(inspect.getdoc(function) or "")
    if not doc.short_description:
        raise ToolDefinitionError(f"tool {name!r} has no docstring: its first lines tell the policy what it does")
    described = {item.arg_name: item.description or "" for item in doc.params}
    signature = list(inspect.signature(function).parameters.values())[1 if method else 0 :]
    hints = _hints(function, name)
    context = [p.name for p in signature if hints.get(p.name) is ToolContext]
    parameters = [p for p in signature if p.name not in context]
    fields: dict[str, Any] = {}
    for number, parameter in enumerate(parameters):
        fields[f"p{number}"] = _field(name, parameter, hints, described.get(parameter.name, ""))
    unknown = set(described) - {p.name for p in signature}
    if unknown:
        raise ToolDefinitionError(
            f"the docstring of tool {name!r} describes {sorted(unknown)}, which are not among its parameters "
            f"{[p.name for p in parameters]}: rename or remove them"
        )
    description = "\n\n".join(part for part in (doc.short_description, doc.long_description) if part)
    arguments, schema = _model(name, fields)
    return Definition(
        ToolSchema(name, description, schema),
        arguments,
        tuple(p.name for p in parameters),
        context[0] if context else None,
    )


def check_names(schemas: Sequence[ToolSchema]) -> None:
    """Check that no two tools share a name.

    Raises:
        ToolDefinitionError: naming the ones that do.
    """
    names = [schema.name for schema in schemas]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ToolDefinitionError(
            f"several tools are called {twice}: name one of them otherwise, your own with @tool(name=...), and what "
            "python, cpython, sql, search, http, files and mcp make with prefix=, as in sql(path, prefix='old_')"
        )


def _check_name(name: str) -> str:
    if not NAME.fullmatch(name):
        raise ToolDefinitionError(
            f"{name[:80]!r} cannot name a tool: use a letter or _, then letters, digits, _ or -, at most 64 in all"
        )
    return name


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        raise ToolDefinitionError(
            f"the types of tool {name!r} cannot be read ({error}): define {error.name!r} at the top level of the module"
        ) from error


def _field(tool: str, parameter: inspect.Parameter, hints: Mapping[str, Any], described: str) -> tuple[Any, Any]:
    """The pydantic field of one parameter."""
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise ToolDefinitionError(
            f"parameter {parameter.name!r} of tool {tool!r} is {parameter.kind.description}, which a policy cannot "
            "fill by name: spell its parameters out"
        )
    if parameter.name not in hints:
        raise ToolDefinitionError(
            f"parameter {parameter.name!r} of tool {tool!r} has no type: write `{parameter.name}: str`, or what it is"
        )
    hint = hints[parameter.name]
    if get_origin(hint) is Annotated:
        texts = [extra for extra in get_args(hint)[1:] if isinstance(extra, str)]
        described = texts[0] if texts else described
    required = parameter.default is parameter.empty
    default = ... if required else parameter.default
    # A description given by pydantic's own Field(description=...) inside Annotated must not be overwritten by None.
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
        raise ToolDefinitionError(f"tool {name!r} has a parameter of a type that JSON cannot say: {message}") from error
    return model, _without_titles(schema)


def _without_titles(schema: Any, named: bool = False) -> Any:
    """The schema without the titles pydantic makes up. `named`: the keys of this dict are names, not keywords."""
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
