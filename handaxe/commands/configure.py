"""Makes a command line out of a recipe's signature, and JSON out of what was chosen and back."""

import dataclasses
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import pydantic
import tyro

from handaxe.errors import RecipeError
from handaxe.recipes.paper import Recipe

__all__ = ["configuration_class", "from_json", "parse", "to_json"]


def configuration_class(build: Callable[..., Any], *, only: frozenset[str] | None = None) -> type:
    """A dataclass with a field for each argument of a recipe function, its type, default and documentation.

    Args:
        build: a function with keyword arguments, each with a type and a default.
        only: names of the arguments to take; None takes all.

    Raises:
        RecipeError: an argument lacks its type or default.
    """
    hints = typing.get_type_hints(build, include_extras=True)
    fields = []
    for name, parameter in inspect.signature(build).parameters.items():
        if name not in hints or parameter.default is inspect.Parameter.empty:
            raise RecipeError(f"argument {name!r} of recipe {build.__name__} needs a type and a default")
        if only is None or name in only:
            default: Any = dataclasses.field(default=parameter.default)
            fields.append((name, hints[name], default))
    made = dataclasses.make_dataclass("Configuration", fields, frozen=True)
    made.__doc__ = build.__doc__
    return made


def parse(kinds: Mapping[str, type], arguments: list[str], *, prog: str, description: str) -> dict[str, Any]:
    """Parse a command line into several dataclasses at once, all options side by side.

    Args:
        kinds: name -> dataclass. An option that two of them share is the later one's mistake, and tyro says so.
        arguments: what was typed after `prog`.
        prog: shown in help.
        description: shown in help.

    Returns:
        Name -> instance.

    Raises:
        SystemExit: with code 2 after a message when the command line does not parse, with 0 after --help.
    """
    flat: Any = tyro.conf.arg(name="")
    whole = dataclasses.make_dataclass("Options", [(name, Annotated[kind, flat]) for name, kind in kinds.items()])
    return dict(
        vars(
            tyro.cli(whole, args=arguments, prog=prog, description=description, config=(tyro.conf.FlagCreatePairsOff,))
        )
    )


def to_json(recipe: Recipe, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A recipe's arguments as JSON values."""
    hints = typing.get_type_hints(recipe.build, include_extras=True)
    return {
        name: pydantic.TypeAdapter(hints[name]).dump_python(value, mode="json") for name, value in arguments.items()
    }


def from_json(recipe: Recipe, saved: Mapping[str, Any]) -> dict[str, Any]:
    """Take back what `to_json` gave.

    Raises:
        RecipeError: the recipe no longer takes such an argument or value.
    """
    hints = typing.get_type_hints(recipe.build, include_extras=True)
    unknown = sorted(set(saved) - set(inspect.signature(recipe.build).parameters))
    if unknown:
        raise RecipeError(f"recipe {recipe.name} takes no argument {', '.join(unknown)}; this run was made by another")
    try:
        return {name: pydantic.TypeAdapter(hints[name]).validate_python(value) for name, value in saved.items()}
    except pydantic.ValidationError as error:
        raise RecipeError(f"the arguments saved with this run do not fit recipe {recipe.name}: {error}") from error
