"""Parses a command line into a `RunSpec`: options of method, base, world and engine, and run settings."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, get_args, get_type_hints

import tyro

from handaxe.methods.flags import option_class, unwrap_partial
from handaxe.methods.method import RunSettings
from handaxe.methods.run_spec import NamedFactory, RunSpec, RunTemplate, run_template
from handaxe.methods.settings_checks import check_settings

__all__ = ["FLAT", "Names", "option_names", "options_dataclass", "parse", "parse_train"]

FLAT: Any = tyro.conf.arg(name="")
"""Annotation of a dataclass with options without a prefix."""
HELP = ("-h", "--help")


@dataclasses.dataclass(frozen=True)
class Names:
    """Names of base, world and engine.

    Args:
        base: base method; by default the base on the page of the method.
        world: by default the world on the page of the method.
        engine: samples and trains.
    """

    base: str = ""
    world: str = ""
    engine: str = "local"


def parse_train(
    method: str, words: list[str], *, prog: str, also: Mapping[str, type]
) -> tuple[RunSpec, dict[str, Any]]:
    """Parse a command line: first the names, then the options of the named parts.

        own options and settings     --smooth 2 --steps 30           --base NAME     --base.OPTION ...
        of base, world and engine    nested                          --world NAME    --world.OPTION ...

    Args:
        method: name of the method.
        words: the words after the name.
        prog: shown in help.
        also: name -> dataclass of further options without a prefix.

    Returns:
        The spec, and an instance for each name of `also`.

    Raises:
        InputError: a name does not exist, or a setting is out of range.
        MethodError: two options without a prefix share a name.
        SystemExit: code 2 after a parse error, 0 after --help.
    """
    plain = [word for word in words if word not in HELP]
    names, _ = tyro.cli(Names, args=plain, prog=prog, return_unknown_args=True, add_help=False)
    template = run_template(method, base=names.base, world=names.world, engine=names.engine)
    template.check({name: "every run" for kind in also.values() for name in option_names(kind)})
    parts = template.parts()
    kinds: dict[str, tuple[Any, Any]] = {"own": (Annotated[options_dataclass(parts.pop("")), FLAT], None)}
    kinds |= {"settings": (Annotated[RunSettings, FLAT], template.settings())}
    kinds |= {name: (Annotated[kind, FLAT], None) for name, kind in also.items()}
    kinds |= {"names": (Annotated[Names, FLAT], _names_of(template))}
    kinds |= {name: (options_dataclass(part), None) for name, part in parts.items() if part.options()}
    found = parse(kinds, words, prog=prog, description=_summary(template))
    check_settings(found["settings"])
    options = {"": vars(found["own"])}
    options |= {name: vars(found[name]) if name in found else {} for name in parts}
    return RunSpec(template, found["settings"], options), {name: found[name] for name in also}


def option_names(kind: type) -> Iterator[str]:
    """Names of the options of a dataclass, with the options of FLAT dataclasses in it."""
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if FLAT in getattr(hint, "__metadata__", ()):
            yield from option_names(get_args(hint)[0])
        else:
            yield name


def options_dataclass(factory: NamedFactory) -> type:
    """Make a dataclass with a field for each option of a factory."""
    return option_class("Options", factory.options(), unwrap_partial(factory.make)[0].__doc__)


def parse(kinds: Mapping[str, tuple[Any, Any]], words: list[str], *, prog: str, description: str) -> dict[str, Any]:
    """Parse a command line into several dataclasses.

    Args:
        kinds: name -> (dataclass, instance with the defaults or None). The name is the prefix of the options, unless
            the dataclass is annotated with FLAT.
        words: the words after `prog`.
        prog, description: shown in help.

    Returns:
        Name -> instance.

    Raises:
        SystemExit: code 2 after a parse error, 0 after --help.
    """
    fields = [
        (name, kind, dataclasses.field() if default is None else dataclasses.field(default=default))
        for name, (kind, default) in kinds.items()
    ]
    whole = dataclasses.make_dataclass("Options", fields, kw_only=True)
    config = (tyro.conf.FlagCreatePairsOff,)
    return dict(vars(tyro.cli(whole, args=words, prog=prog, description=description, config=config)))


def _names_of(template: RunTemplate) -> Names:
    base = "" if template.base is None else template.base.name
    return Names(base=base, world=template.world.name, engine=template.engine.name)


def _summary(template: RunTemplate) -> str:
    return (unwrap_partial(template.method.make)[0].__doc__ or "").strip().partition("\n")[0]
