"""Options of a function: its keyword arguments, as command-line flags, and to JSON and back."""

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

__all__ = ["Option", "dump_options", "option_class", "options_of", "parse_words", "read_options", "unwrapped"]

REQUIRED = inspect.Parameter.empty


class Option(NamedTuple):
    """A keyword argument as the command line offers it; one without default has `inspect.Parameter.empty` there."""

    name: str
    type: Any
    default: Any


def unwrapped(made: Callable[..., Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
    """A function, and the keyword arguments that a `partial` of it has set."""
    if isinstance(made, partial):
        inner, keywords = unwrapped(made.func)
        return inner, {**keywords, **made.keywords}
    return made, {}


def options_of(made: Callable[..., Any], *, given: Collection[str] = ()) -> list[Option]:
    """The options of a function, a class, or a `partial` of either, in its order.

    Args:
        made: what will be called. Arguments that may be passed by position are no options, unless it is a class or
            they have a default.
        given: arguments that are no options either, since the caller supplies them.

    Raises:
        RecipeError: an argument has no type, or its type cannot be found.
    """
    function, keywords = unwrapped(made)
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


def dump_options(options: list[Option], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """What was chosen, as JSON values."""
    return {one.name: pydantic.TypeAdapter(one.type).dump_python(chosen[one.name], mode="json") for one in options}


def read_options(options: list[Option], saved: Mapping[str, Any], *, whose: str) -> dict[str, Any]:
    """Take back what `dump_options` gave. Options that were not saved have their default.

    Args:
        options: of the function.
        saved: name -> JSON value.
        whose: named in errors, such as "recipe otc".

    Raises:
        RecipeError: it takes no such option or value any longer, or one that it needs is missing.
    """
    names = [one.name for one in options]
    if unknown := sorted(set(saved) - set(names)):
        raise MethodError(f"{whose} takes no argument {', '.join(unknown)}; this run was made by another")
    if missing := [one.name for one in options if one.default is REQUIRED and one.name not in saved]:
        raise MethodError(f"{whose} needs {', '.join(missing)}")
    found = {one.name: one.default for one in options}
    for one in options:
        if one.name not in saved:
            continue
        try:
            found[one.name] = pydantic.TypeAdapter(one.type).validate_python(saved[one.name])
        except pydantic.ValidationError as error:
            why = error.errors()[0]["msg"]
            raise MethodError(
                f"the arguments saved with this run do not fit {whose}: {one.name} is {saved[one.name]!r:.60} ({why})"
            ) from error
    return found


def option_class(name: str, options: Sequence[Option], doc: str | None) -> type:
    """A dataclass with a field for each option: its type, default and documentation, for tyro.

    Args:
        name: of the class.
        options: its fields.
        doc: docstring whose Args document the fields.
    """
    fields = [
        (
            one.name,
            one.type,
            dataclasses.field() if one.default is REQUIRED else dataclasses.field(default=one.default),
        )
        for one in options
    ]
    kind = dataclasses.make_dataclass(name, fields, frozen=True, kw_only=True)
    kind.__doc__ = doc
    return kind


def parse_words(made: Callable[..., Any], words: Sequence[str], *, whose: str) -> dict[str, Any]:
    """Parse options of a function in the grammar of the command line.

    Args:
        made: the function.
        words: such as ["--rounds", "1"].
        whose: shown in errors.

    Returns:
        Name -> value, of the options that differ from their defaults.

    Raises:
        RecipeError: the words do not parse.

    Example:
        parse_words(dapo, ["--rounds", "1"], whose="dapo --rounds 1") -> {"rounds": 1}
    """
    options = [one for one in options_of(made) if one.default is not REQUIRED]
    printed = io.StringIO()
    kind = option_class("Options", options, None)
    try:
        with redirect_stdout(printed), redirect_stderr(printed):
            found: Any = tyro.cli(kind, args=list(words), prog=whose, config=(tyro.conf.FlagCreatePairsOff,))
    except SystemExit as error:
        shown = " ".join(printed.getvalue().split())
        raise MethodError(f"{whose!r} does not parse: {shown:.300}") from error
    return {one.name: value for one in options if (value := getattr(found, one.name)) != one.default}


def _simple(hint: Any) -> Any:
    """The type a command line can read: where text is one of several, text stands for classes that it can name."""
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return hint
    parts = typing.get_args(hint)
    foreign = [one for one in parts if inspect.isclass(one) and one.__module__ not in ("builtins", "pathlib")]
    if str not in parts or not foreign:
        return hint
    return typing.Union[tuple(one for one in parts if one not in foreign)]  # noqa: UP007
