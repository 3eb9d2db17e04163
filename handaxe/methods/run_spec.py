"""What a run is made of: method, base, world, engine, settings, and the options of each."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.core.errors import InputError, MethodError
from handaxe.methods.lookup import Kind, find
from handaxe.methods.method import Change, RunSettings
from handaxe.methods.options import Option, dump_options, options_of, parse_words, read_options, unwrapped
from handaxe.methods.paper import ROOT_METHOD, MethodPage, page_of_folder

__all__ = [
    "NamedFactory",
    "RunSpec",
    "RunTemplate",
    "is_root",
    "load_method",
    "own_base",
    "page_of",
    "run_template",
    "spec_of_base",
]

FROM_METHOD = ("model", "critic", "reference")
"""Arguments of an engine that follow from the method."""


class NamedFactory(NamedTuple):
    """A name, and the factory that it stands for: a method, a function that makes a world, or an engine class."""

    name: str
    make: Callable[..., Any]

    def options(self) -> list[Option]:
        """Options of the factory."""
        return options_of(self.make, given=FROM_METHOD)


@dataclass(frozen=True)
class RunTemplate:
    """The factories of a run, before options are chosen. `base` is None for the root method."""

    method: NamedFactory
    page: MethodPage
    base: NamedFactory | None
    world: NamedFactory
    engine: NamedFactory

    def parts(self) -> dict[str, NamedFactory]:
        """Option prefix -> factory. The method's options have no prefix."""
        base = {} if self.base is None else {"base": self.base}
        return {"": self.method, **base, "world": self.world, "engine": self.engine}

    def check(self, more: Mapping[str, str]) -> None:
        """Raise RecipeError if two options without a prefix have one name.

        Args:
            more: further options -> their owners.
        """
        taken = dict.fromkeys(("base", "world", "engine"), "the command line")
        taken |= dict.fromkeys(RunSettings.__dataclass_fields__, "every run") | dict(more)
        for one in self.method.options():
            if one.name in taken:
                raise MethodError(
                    f"method {self.method.name} has an argument {one.name!r}, and so has {taken[one.name]}: rename it"
                )

    def default(self) -> RunSpec:
        """The run with default options.

        Raises:
            RecipeError: an option has no default, such as the file of a world.
        """
        return self.read({})

    def read(self, saved: Mapping[str, Any]) -> RunSpec:
        """The run with the options that `RunSpec.arguments` gave, and defaults for the others.

        Raises:
            RecipeError: an option is unknown, or its value does not fit.
        """
        settings = {name: value for name, value in saved.items() if name in RunSettings.__dataclass_fields__}
        of: dict[str, dict[str, Any]] = {part: {} for part in self.parts()}
        for name, value in saved.items():
            part, dot, option = name.partition(".")
            if dot and part in of:
                of[part][option] = value
            elif name not in (*settings, "base", "world", "engine"):
                of[""][name] = value
        options = {
            part: read_options(made.options(), of[part], whose=f"{part or 'method'} {made.name}")
            for part, made in self.parts().items()
        }
        chosen = read_options(_setting_options(self.settings()), settings, whose="a run")
        return RunSpec(self, RunSettings(**chosen), options)

    def settings(self) -> RunSettings:
        """Default settings of the method.

        Raises:
            RecipeError: the page of the method has an unknown setting, or a value that does not fit.
        """
        whose = f"settings in the page of {self.method.name}"
        return RunSettings(**read_options(_setting_options(RunSettings()), self.page.settings, whose=whose))


@dataclass(frozen=True)
class RunSpec:
    """A run ready to be built. `options`: prefix of `RunTemplate.parts` -> name -> value."""

    template: RunTemplate
    settings: RunSettings
    options: Mapping[str, Mapping[str, Any]]

    @property
    def name(self) -> str:
        """Name of the method."""
        return self.template.method.name

    def arguments(self) -> dict[str, Any]:
        """Every option and setting as JSON. Options of base, world and engine are named "base.NAME" and so on."""
        found = dump_options(self.template.method.options(), self.options[""])
        found |= dump_options(_setting_options(self.settings), vars(self.settings))
        for part, made in self.template.parts().items():
            if part:
                found[part] = made.name
                found |= {
                    f"{part}.{key}": value for key, value in dump_options(made.options(), self.options[part]).items()
                }
        return found


def run_template(method: str, *, base: str = "", world: str = "", engine: str = "local") -> RunTemplate:
    """Find the factories of a run by name.

    Args:
        method: name or MODULE:ATTRIBUTE.
        base, world: likewise; "" for the ones that the page of the method names.
        engine: likewise.

    Raises:
        InputError: nothing has one of the names, or the root method was given a base.
    """
    made = load_method(method)
    page = page_of(made.make)
    if is_root(made.make):
        if base:
            raise InputError(f"method {method} is the root and has no base: leave --base out")
        under = None
    else:
        under = _named("methods", base, page.base)
    return RunTemplate(
        made, page, under, _named("worlds", world, page.world), NamedFactory(engine, find("engines", engine))
    )


def spec_of_base(spec: RunSpec) -> RunSpec:
    """The run of the base that claims are measured against: same settings, world and engine.

    Raises:
        InputError: the method is the root, which has no base.
    """
    base = spec.template.base
    if base is None:
        raise InputError(f"method {spec.name} has no base to compare with")
    page = page_of(base.make)
    under = None if is_root(base.make) else own_base(base)
    template = replace(spec.template, method=base, page=page, base=under)
    options = {part: made for part, made in spec.options.items() if part in ("world", "engine")}
    options |= {"": spec.options["base"]}
    if under is not None:
        options |= {"base": read_options(under.options(), {}, whose=f"base {under.name}")}
    return RunSpec(template, spec.settings, options)


def load_method(name: str) -> NamedFactory:
    """Import a method by name or MODULE:ATTRIBUTE.

    Raises:
        RecipeError: there is no such method; the message lists close matches.
    """
    made = find("methods", name)
    if not callable(made):
        raise MethodError(f"{name!r} is no function (base: Method, *, options) -> Method")
    return NamedFactory(name, made)


def page_of(change: Change) -> MethodPage:
    """The page of a method: that of paper.toml in the folder of its module, an empty page without one."""
    function, _ = unwrapped(change)
    file = getattr(sys.modules.get(function.__module__), "__file__", None)
    if file is None:
        return MethodPage(name=function.__name__, short=function.__name__)
    return page_of_folder(Path(file).parent, function.__name__)


def is_root(change: Change) -> bool:
    """Return True if the method is made from a world and settings and changes no other method."""
    function, _ = unwrapped(change)
    return next(iter(inspect.signature(function).parameters), "") == "world"


def own_base(made: NamedFactory) -> NamedFactory:
    """The base that the page of a method names, with its options as defaults."""
    return _named("methods", "", page_of(made.make).base)


def _named(kind: Kind, name: str, own: str) -> NamedFactory:
    """The factory of a name. The name that a page gives has the options of the page as defaults."""
    first, *words = (own or ROOT_METHOD).split()
    if name and name != first:
        return NamedFactory(name, find(kind, name))
    made = find(kind, first)
    return NamedFactory(first, partial(made, **parse_words(made, words, whose=own)) if words else made)


def _setting_options(settings: RunSettings) -> list[Option]:
    return options_of(partial(RunSettings, **vars(settings)))
