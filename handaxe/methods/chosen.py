"""A recipe with all that was chosen for it: base, world, engine, setting and the options of each."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from handaxe.errors import InputError, RecipeError
from handaxe.methods.method import Change, Recipe, Setting
from handaxe.methods.names import find
from handaxe.methods.options import Option, dump_options, options_of, read_options, unwrapped

__all__ = ["Choice", "Chosen", "Named", "choice", "is_root", "load_recipe", "of_base", "recipe_of"]

MADE_BY_US = ("model", "critic", "reference")
"""Arguments of an engine that follow from the recipe."""


class Named(NamedTuple):
    """A name, and what is called for it: a recipe's change, a world's function, an engine's class."""

    name: str
    make: Callable[..., Any]

    def options(self) -> list[Option]:
        """What can be chosen for it."""
        return options_of(self.make, given=MADE_BY_US)


@dataclass(frozen=True)
class Choice:
    """The four names of a run, before anything is chosen for their options. `base` is None for the root of all."""

    recipe: Named
    about: Recipe
    base: Named | None
    world: Named
    engine: Named

    def parts(self) -> dict[str, Named]:
        """Prefix of its options -> what they are chosen for; those of the recipe have none."""
        base = {} if self.base is None else {"base": self.base}
        return {"": self.recipe, **base, "world": self.world, "engine": self.engine}

    def check(self, more: Mapping[str, str]) -> None:
        """Raise RecipeError when two options without a prefix have one name; `more`: option -> whose it is."""
        taken = dict.fromkeys(("base", "world", "engine"), "the command line")
        taken |= dict.fromkeys(Setting.__dataclass_fields__, "every recipe") | dict(more)
        for one in self.recipe.options():
            if one.name in taken:
                raise RecipeError(
                    f"recipe {self.recipe.name} has an argument {one.name!r}, and so has {taken[one.name]}: rename it"
                )

    def default(self) -> Chosen:
        """With every option as it stands.

        Raises:
            RecipeError: an option is needed, such as the file of a world that reads one.
        """
        return self.read({})

    def read(self, saved: Mapping[str, Any]) -> Chosen:
        """With the options of `Chosen.arguments`, those that are not there as they stand.

        Raises:
            RecipeError: an option or value that does not fit.
        """
        setting = {name: value for name, value in saved.items() if name in Setting.__dataclass_fields__}
        of: dict[str, dict[str, Any]] = {part: {} for part in self.parts()}
        for name, value in saved.items():
            part, dot, option = name.partition(".")
            if dot and part in of:
                of[part][option] = value
            elif name not in (*setting, "base", "world", "engine"):
                of[""][name] = value
        options = {part: read_options(made.options(), of[part], whose=f"{part or 'recipe'} {made.name}")
                   for part, made in self.parts().items()}  # fmt: skip
        settings = read_options(_setting_options(self.about.setting), setting, whose="a run")
        return Chosen(self, Setting(**settings), options)


@dataclass(frozen=True)
class Chosen:
    """A recipe ready to be built. `options`: prefix -> name -> value, as `Choice.parts` has the prefixes."""

    choice: Choice
    setting: Setting
    options: Mapping[str, Mapping[str, Any]]

    @property
    def name(self) -> str:
        """The recipe's."""
        return self.choice.recipe.name

    def arguments(self) -> dict[str, Any]:
        """Everything chosen, as JSON: the recipe's own options and the setting by name, those of base, world and
        engine as "base.NAME", and the three names."""
        found = dump_options(self.choice.recipe.options(), self.options[""])
        found |= dump_options(_setting_options(self.setting), vars(self.setting))
        for part, made in self.choice.parts().items():
            if part:
                found[part] = made.name
                found |= {
                    f"{part}.{key}": value for key, value in dump_options(made.options(), self.options[part]).items()
                }
        return found


def choice(recipe: str, *, base: str = "", world: str = "", engine: str = "local") -> Choice:
    """Find what the names stand for.

    Args:
        recipe: name or MODULE:ATTRIBUTE.
        base: "" for the recipe's own.
        world: "" for the recipe's own.
        engine: of sampling and training.

    Raises:
        InputError: there is nothing of a name, or `plain` was given a base.
    """
    chosen = load_recipe(recipe)
    about = recipe_of(chosen.make)
    if is_root(chosen.make):
        if base:
            raise InputError(f"recipe {recipe} is where bases begin; it has none itself: leave --base out")
        found = None
    else:
        found = _named("recipes", base, about.base, "plain")
    return Choice(
        chosen, about, found, _named("worlds", world, about.world, "gym"), Named(engine, find("engines", engine))
    )


def of_base(chosen: Chosen) -> Chosen:
    """What the claims of a recipe are measured against: its base, in the same setting and world, on the same engine.

    Raises:
        InputError: the recipe is the root, which has no base.
    """
    base = chosen.choice.base
    if base is None:
        raise InputError(f"recipe {chosen.name} has no base to compare it with")
    about = recipe_of(base.make)
    under = None if is_root(base.make) else _named("recipes", "", about.base, "plain")
    choice = replace(chosen.choice, recipe=base, about=about, base=under)
    options = {part: made for part, made in chosen.options.items() if part in ("world", "engine")}
    options |= {"": chosen.options["base"]}
    if under is not None:
        options |= {"base": read_options(under.options(), {}, whose=f"base {under.name}")}
    return Chosen(choice, chosen.setting, options)


def load_recipe(name: str) -> Named:
    """A recipe by its name.

    Raises:
        RecipeError: there is none of that name; the message holds close matches.
    """
    made = find("recipes", name)
    if not callable(made):
        raise RecipeError(f"{name!r} is no function (base: Method, *, knobs) -> Method")
    return Named(name, made)


def recipe_of(change: Change) -> Recipe:
    """The RECIPE beside a change in its module; an empty one where there is none."""
    function, _ = unwrapped(change)
    found = getattr(sys.modules.get(function.__module__), "RECIPE", None)
    return found if isinstance(found, Recipe) else Recipe()


def is_root(change: Change) -> bool:
    """Whether it makes a Method of a world and a setting instead of changing another one."""
    function, _ = unwrapped(change)
    return next(iter(inspect.signature(function).parameters), "") == "world"


def _named(room: Any, name: str, own: Callable[..., Any] | None, otherwise: str) -> Named:
    """What was asked for; where that is the recipe's own, with the options that the recipe gives it."""
    own_name = "" if own is None else unwrapped(own)[0].__name__
    if name and name != own_name:
        return Named(name, find(room, name))
    return Named(otherwise, find(room, otherwise)) if own is None else Named(_where(own), own)


def _where(made: Callable[..., Any]) -> str:
    """The name under which `find` finds a function: the file's of ours, MODULE:ATTRIBUTE of a user's."""
    function, _ = unwrapped(made)
    module = function.__module__
    ours = module.startswith("handaxe.") and module.rpartition(".")[2] == function.__name__
    return function.__name__ if ours else f"{module}:{function.__name__}"


def _setting_options(setting: Setting) -> list[Option]:
    return options_of(partial(Setting, **vars(setting)))
