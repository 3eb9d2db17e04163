"""Keyword arguments of a function as command-line flags and as JSON.

def otc(base: Method, *, smooth: float = 1.0)        keyword argument of a method
list_options(otc) -> [Option("smooth", float, 1.0)]    its options
flag("smooth") -> "--smooth"                         the flag of an option
parse_words(otc, ["--smooth", "2"], ...)             words of a command line -> values
dump_options, read_options                           values -> JSON -> values
"""

import dataclasses
import inspect
import io
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from typing import Any, NamedTuple

import pydantic
import tyro

from handaxe.core.errors import MethodError

__all__ = [
    "Option",
    "dump_options",
    "flag",
    "list_options",
    "option_class",
    "parse_words",
    "read_options",
    "unwrap_partial",
]

REQUIRED = inspect.Parameter.empty


class Option(NamedTuple):
    """A keyword argument: name, type and default; the default of a required argument is `inspect.Parameter.empty`."""

    name: str
    type: Any
    default: Any


def flag(name: str) -> str:
    """The command-line flag of an option.

    Example:
        flag("group_size") -> "--group-size"
    """
    return f"--{name.replace('_', '-')}"


def unwrap_partial(function: Callable[..., Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The innermost function of nested `partial` objects, and all keyword arguments set by the objects."""
    if isinstance(function, partial):
        inner, keywords = unwrap_partial(function.func)
        return inner, {**keywords, **function.keywords}
    return function, {}


def list_options(factory: Callable[..., Any], *, given: Collection[str] = ()) -> list[Option]:
    """List the options of a function, a class, or a `partial` of either, in signature order.

    Args:
        factory: function or class. Positional arguments without default are no options.
        given: further arguments that are no options, since the caller supplies them.

    Raises:
        MethodError: an argument has no type, or its type cannot be found.
    """
    function, keywords = unwrap_partial(factory)
    body = function.__init__ if inspect.isclass(function) else function
    name = getattr(function, "__name__", str(function))
    try:
        hints = typing.get_type_hints(body, include_extras=True)
    except NameError as error:
        raise MethodError(f"the types of {name}'s arguments cannot be found: {error}") from error
    found = []
    for key, parameter in inspect.signature(function).parameters.items():
        if key in given or (parameter.kind is not parameter.KEYWORD_ONLY and parameter.default is REQUIRED):
            continue
        if key not in hints:
            raise MethodError(f"argument {key!r} of {name} needs a type")
        found.append(Option(key, _simple(hints[key]), keywords.get(key, parameter.default)))
    return found


def dump_options(options: list[Option], values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the values of options to JSON values."""
    return {one.name: pydantic.TypeAdapter(one.type).dump_python(values[one.name], mode="json") for one in options}


def read_options(options: list[Option], saved: Mapping[str, Any], *, owner: str) -> dict[str, Any]:
    """Convert the JSON values of `dump_options` back. Missing options get default values.

    Args:
        options: of the function.
        saved: name -> JSON value.
        owner: name of the function in errors, such as "method otc".

    Raises:
        MethodError: an option does not exist in this version, a value does not fit, or a required option is missing.
    """
    names = [one.name for one in options]
    if unknown := sorted(set(saved) - set(names)):
        raise MethodError(f"{owner} takes no argument {', '.join(unknown)}; another version made this run")
    if missing := [one.name for one in options if one.default is REQUIRED and one.name not in saved]:
        raise MethodError(f"{owner} needs {', '.join(missing)}")
    found = {one.name: one.default for one in options}
    for one in options:
        if one.name not in saved:
            continue
        try:
            found[one.name] = pydantic.TypeAdapter(one.type).validate_python(saved[one.name])
        except pydantic.ValidationError as error:
            why = error.errors()[0]["msg"]
            raise MethodError(
                f"the arguments saved with this run do not fit {owner}: {one.name} is {saved[one.name]!r:.60} ({why})"
            ) from error
    return found


def option_class(name: str, options: Sequence[Option], doc: str | None) -> type:
    """Make a dataclass for tyro with a field per option.

    Args:
        name: of the class.
        options: fields of the class.
        doc: docstring; its Args section documents the fields.
    """
    fields = [(one.name, one.type, _field(one.default)) for one in options]
    kind = dataclasses.make_dataclass(name, fields, frozen=True, kw_only=True)
    kind.__doc__ = doc
    return kind


def _field(default: Any) -> Any:
    if default is REQUIRED:
        return dataclasses.field()
    if type(default).__hash__ is None:  # a dataclass takes no mutable default
        return dataclasses.field(default_factory=lambda: default)
    return dataclasses.field(default=default)


def parse_words(
    function: Callable[..., Any], words: Sequence[str], *, command: str, required: bool = False
) -> dict[str, Any]:
    """Parse options of a function in the grammar of the command line.

    Args:
        function: has the options.
        words: such as ["--rounds", "1"].
        command: shown in errors.
        required: options without a default are known, and must be given.

    Returns:
        Name -> value of each option that differs from its default.

    Raises:
        MethodError: the words do not parse.

    Example:
        parse_words(dapo, ["--rounds", "1"], command="dapo --rounds 1") -> {"rounds": 1}
    """
    options = [one for one in list_options(function) if required or one.default is not REQUIRED]
    printed = io.StringIO()
    kind = option_class("Options", options, None)
    try:
        with redirect_stdout(printed), redirect_stderr(printed):
            config = (tyro.conf.FlagCreatePairsOff, tyro.conf.HelptextFromCommentsOff)
            found: Any = tyro.cli(kind, args=list(words), prog=command, config=config)
    except SystemExit as error:
        shown = " ".join(printed.getvalue().split())
        raise MethodError(f"{command!r} does not parse: {shown:.300}") from error
    return {one.name: value for one in options if (value := getattr(found, one.name)) != one.default}


def _simple(hint: Any) -> Any:
    """Remove classes from a union with text, for the command line: `str | torch.device` -> `str`."""
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return hint
    parts = typing.get_args(hint)
    foreign = [one for one in parts if inspect.isclass(one) and one.__module__ not in ("builtins", "pathlib")]
    if str not in parts or not foreign:
        return hint
    return typing.Union[tuple(one for one in parts if one not in foreign)]  # noqa: UP007
