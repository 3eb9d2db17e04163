"""Makes a command line out of a recipe, its base, world and engine, and the settings of every run."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, get_args, get_type_hints

import tyro

from handaxe.methods.limits import check_setting
from handaxe.methods.method import RunSettings
from handaxe.methods.options import option_class, unwrapped
from handaxe.methods.run_spec import NamedFactory, RunSpec, RunTemplate, run_template

__all__ = ["FLAT", "Names", "option_names", "options_of_factory", "parse", "parse_train"]

FLAT: Any = tyro.conf.arg(name="")
"""Annotates a dataclass whose options have no prefix."""
HELP = ("-h", "--help")


@dataclasses.dataclass(frozen=True)
class Names:
    """What a run is made of.

    Args:
        base: recipe that is changed; the recipe's own unless told otherwise.
        world: where it is played; the recipe's own unless told otherwise.
        engine: what samples and trains.
    """

    base: str = ""
    world: str = ""
    engine: str = "local"


def parse_train(
    method: str, words: list[str], *, prog: str, also: Mapping[str, type]
) -> tuple[RunSpec, dict[str, Any]]:
    """Read a command line: first the names in it, then the options of what they name.

        own options and settings     --smooth 2 --steps 30           --base NAME     --base.OPTION ...
        of base, world and engine    nested                          --world NAME    --world.OPTION ...

    Args:
        method: its name.
        words: what was typed after it.
        prog: shown in help.
        also: name -> dataclass of further options without a prefix.

    Returns:
        What was chosen, and for each name of `also` an instance.

    Raises:
        InputError: something named is not there, or a setting is out of range.
        RecipeError: two options without a prefix have one name.
        SystemExit: with code 2 after a message when the command line does not parse, with 0 after --help.
    """
    plain = [word for word in words if word not in HELP]
    names, _ = tyro.cli(Names, args=plain, prog=prog, return_unknown_args=True, add_help=False)
    made = run_template(method, base=names.base, world=names.world, engine=names.engine)
    made.check({name: "every run" for kind in also.values() for name in option_names(kind)})
    parts = made.parts()
    kinds: dict[str, tuple[Any, Any]] = {"own": (Annotated[options_of_factory(parts.pop("")), FLAT], None)}
    kinds |= {"settings": (Annotated[RunSettings, FLAT], made.settings())}
    kinds |= {name: (Annotated[kind, FLAT], None) for name, kind in also.items()}
    kinds |= {"names": (Annotated[Names, FLAT], _shown(made))}
    kinds |= {name: (options_of_factory(part), None) for name, part in parts.items() if part.options()}
    found = parse(kinds, words, prog=prog, description=_summary(made))
    check_setting(found["settings"])
    options = {"": vars(found["own"])}
    options |= {name: vars(found[name]) if name in found else {} for name in parts}
    return RunSpec(made, found["settings"], options), {name: found[name] for name in also}


def option_names(kind: type) -> Iterator[str]:
    """What the options of a dataclass are called, those of dataclasses in it that are FLAT among them."""
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if FLAT in getattr(hint, "__metadata__", ()):
            yield from option_names(get_args(hint)[0])
        else:
            yield name


def options_of_factory(made: NamedFactory) -> type:
    """A dataclass with a field for each option of a factory."""
    return option_class("Options", made.options(), unwrapped(made.make)[0].__doc__)


def parse(kinds: Mapping[str, tuple[Any, Any]], words: list[str], *, prog: str, description: str) -> dict[str, Any]:
    """Parse a command line into several dataclasses at once.

    Args:
        kinds: name -> (dataclass, an instance of it that holds the defaults, or None). Its options have the name as
            prefix, unless it is annotated with FLAT.
        words: what was typed after `prog`.
        prog, description: shown in help.

    Returns:
        Name -> instance.

    Raises:
        SystemExit: with code 2 after a message when the command line does not parse, with 0 after --help.
    """
    fields = [
        (name, kind, dataclasses.field() if default is None else dataclasses.field(default=default))
        for name, (kind, default) in kinds.items()
    ]
    whole = dataclasses.make_dataclass("Options", fields, kw_only=True)
    config = (tyro.conf.FlagCreatePairsOff,)
    return dict(vars(tyro.cli(whole, args=words, prog=prog, description=description, config=config)))


def _shown(made: RunTemplate) -> Names:
    return Names(base="" if made.base is None else made.base.name, world=made.world.name, engine=made.engine.name)


def _summary(made: RunTemplate) -> str:
    return (unwrapped(made.method.make)[0].__doc__ or "").strip().partition("\n")[0]
