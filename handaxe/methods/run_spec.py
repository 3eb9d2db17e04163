"""Specification of a run: method, base, world, engine, curriculum, settings, and the options of each."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.core.errors import InputError, MethodError
from handaxe.methods.flags import Option, dump_options, list_options, parse_words, read_options, unwrap_partial
from handaxe.methods.lookup import Kind, check_name, find
from handaxe.methods.method import Change, RunSettings
from handaxe.methods.paper import ROOT_METHOD, MethodPage, read_method_page

__all__ = [
    "NAMED",
    "NamedFactory",
    "RunSpec",
    "RunTemplate",
    "base_spec",
    "default_base",
    "is_root",
    "load_method",
    "method_page",
    "run_template",
]

FROM_METHOD = ("model", "critic", "heads", "reference")
"""Arguments of an engine that the method decides."""
FROM_RUN = ("tasks", "seed", "around")
"""Arguments of a curriculum that the run decides."""
NAMED = ("base", "world", "engine", "curriculum")
"""Parts of a run with a name, and options with the name as prefix."""


class NamedFactory(NamedTuple):
    """A named factory: a method, a function from options to a world or a curriculum, or an engine class.

    `given` names arguments that are no options.
    """

    name: str
    make: Callable[..., Any]
    given: tuple[str, ...] = ()

    def options(self) -> list[Option]:
        """Options of the factory."""
        return list_options(self.make, given=self.given)


@dataclass(frozen=True)
class RunTemplate:
    """The factories of a run, before options are chosen.

    `base` is None for the root method, and `curriculum` for the default of method and world.
    """

    method: NamedFactory
    page: MethodPage
    base: NamedFactory | None
    world: NamedFactory
    engine: NamedFactory
    curriculum: NamedFactory | None = None

    def parts(self) -> dict[str, NamedFactory]:
        """Option prefix -> factory. The method's options have no prefix."""
        base = {} if self.base is None else {"base": self.base}
        curriculum = {} if self.curriculum is None else {"curriculum": self.curriculum}
        return {"": self.method, **base, "world": self.world, "engine": self.engine, **curriculum}

    def with_engine(self) -> RunTemplate:
        """A copy with the engine imported; see `run_template`."""
        return replace(self, engine=_engine(self.engine.name))

    def check(self, more: Mapping[str, str]) -> None:
        """Raise MethodError if two options without a prefix share a name.

        Args:
            more: further options -> their owners.
        """
        taken = dict.fromkeys(NAMED, "the command line")
        taken |= dict.fromkeys(RunSettings.__dataclass_fields__, "every run") | dict(more)
        for one in self.method.options():
            if one.name in taken:
                raise MethodError(
                    f"method {self.method.name} has an argument {one.name!r}, and so has {taken[one.name]}: rename it"
                )

    def default(self) -> RunSpec:
        """The run with default options.

        Raises:
            MethodError: an option has no default, such as the file of a world.
        """
        return self.read({})

    def read(self, saved: Mapping[str, Any]) -> RunSpec:
        """The run with the options of `RunSpec.arguments`, and defaults for missing options.

        Raises:
            MethodError: an option is unknown, or its value does not fit.
        """
        settings = {name: value for name, value in saved.items() if name in RunSettings.__dataclass_fields__}
        of: dict[str, dict[str, Any]] = {part: {} for part in self.parts()}
        for name, value in saved.items():
            part, dot, option = name.partition(".")
            if dot and part in of:
                of[part][option] = value
            elif name not in (*settings, *NAMED):
                of[""][name] = value
        options = {
            part: read_options(factory.options(), of[part], owner=f"{part or 'method'} {factory.name}")
            for part, factory in self.parts().items()
        }
        values = read_options(_setting_options(self.settings()), settings, owner="a run")
        return RunSpec(self, RunSettings(**values), options)

    def settings(self) -> RunSettings:
        """Default settings of the method.

        Raises:
            MethodError: the page of the method has an unknown setting, or a value that does not fit.
        """
        owner = f"settings in the page of {self.method.name}"
        return RunSettings(**read_options(_setting_options(RunSettings()), self.page.settings, owner=owner))


@dataclass(frozen=True)
class RunSpec:
    """A run ready to be built.

    options  prefix of `RunTemplate.parts` -> name -> value
    files    option of the world -> present path, for a recorded run; see methods.run_sources
    """

    template: RunTemplate
    settings: RunSettings
    options: Mapping[str, Mapping[str, Any]]
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the method."""
        return self.template.method.name

    def arguments(self) -> dict[str, Any]:
        """Every option and setting as JSON. Options of base, world and engine are named "base.NAME" and so on."""
        found = dump_options(self.template.method.options(), self.options[""])
        found |= dump_options(_setting_options(self.settings), vars(self.settings))
        for part, factory in self.template.parts().items():
            if part:
                found[part] = factory.name
                found |= {
                    f"{part}.{key}": value for key, value in dump_options(factory.options(), self.options[part]).items()
                }
        return found


def run_template(
    method: str,
    *,
    base: str = "",
    world: str = "",
    engine: str = "local",
    curriculum: str = "",
    import_engine: bool = True,
) -> RunTemplate:
    """Find the factories of a run by name.

    Args:
        method: name or MODULE:ATTRIBUTE.
        base, world: likewise; "" for the ones that the page of the method names. A method without a page has world and
            settings of its base's page.
        engine: likewise.
        curriculum: likewise; "" for the default.
        import_engine: False checks the name of an engine of handaxe without an import, and leaves its options out.

    Raises:
        InputError: nothing has one of the names, or the root method was given a base.
    """
    factory = load_method(method)
    page = method_page(factory.make)
    if is_root(factory.make):
        if base:
            raise InputError(f"method {method} is the root and has no base: leave --base out")
        parent = None
    else:
        parent = _named("methods", base, page.base)
        if base and page == MethodPage(name=page.name, short=page.name):
            like = method_page(parent.make)
            page = replace(page, world=like.world, settings=like.settings)
    if import_engine or ":" in engine:
        made = _engine(engine)
    else:
        check_name("engines", engine)
        made = NamedFactory(engine, _no_options)
    order = NamedFactory(curriculum, find("curricula", curriculum), FROM_RUN) if curriculum else None
    return RunTemplate(factory, page, parent, _named("worlds", world, page.world), made, order)


def base_spec(spec: RunSpec) -> RunSpec:
    """The run of the base, the baseline of claims: same settings, world and engine.

    Raises:
        InputError: the method is the root, which has no base.
    """
    base = spec.template.base
    if base is None:
        raise InputError(f"method {spec.name} has no base to compare with")
    page = method_page(base.make)
    parent = None if is_root(base.make) else default_base(base)
    template = replace(spec.template, method=base, page=page, base=parent)
    options = {part: values for part, values in spec.options.items() if part in ("world", "engine", "curriculum")}
    options |= {"": spec.options["base"]}
    if parent is not None:
        options |= {"base": read_options(parent.options(), {}, owner=f"base {parent.name}")}
    return RunSpec(template, spec.settings, options, spec.files)


def load_method(name: str) -> NamedFactory:
    """Import a method by name or MODULE:ATTRIBUTE.

    Raises:
        MethodError: there is no such method; the message lists close matches.
    """
    factory = find("methods", name)
    if not callable(factory):
        raise MethodError(f"{name!r} is no function (base: Method, *, options) -> Method")
    return NamedFactory(name, factory)


def method_page(change: Change) -> MethodPage:
    """Read the page of a method from paper.toml in the folder of the module; an empty page without the file."""
    function, _ = unwrap_partial(change)
    file = getattr(sys.modules.get(function.__module__), "__file__", None)
    if file is None:
        return MethodPage(name=function.__name__, short=function.__name__)
    return read_method_page(Path(file).parent, function.__name__)


def is_root(change: Change) -> bool:
    """Return True if the method is made from a world and settings and changes no other method."""
    function, _ = unwrap_partial(change)
    return next(iter(inspect.signature(function).parameters), "") == "world"


def default_base(factory: NamedFactory) -> NamedFactory:
    """The base on the page of a method, with the options of the page as defaults."""
    return _named("methods", "", method_page(factory.make).base)


def _engine(name: str) -> NamedFactory:
    return NamedFactory(name, find("engines", name), FROM_METHOD)


def _no_options() -> None:
    """Factory of an engine that is not imported yet; it has no options."""


def _named(kind: Kind, name: str, own: str) -> NamedFactory:
    """Find the factory of a name. The name on a page has the options of the page as defaults."""
    first, *words = (own or ROOT_METHOD).split()
    if name and name != first:
        return NamedFactory(name, find(kind, name))
    factory = find(kind, first)
    return NamedFactory(first, partial(factory, **parse_words(factory, words, command=own)) if words else factory)


def _setting_options(settings: RunSettings) -> list[Option]:
    return list_options(partial(RunSettings, **vars(settings)))
