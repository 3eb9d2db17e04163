"""Parses a command line into a `RunSpec`: options of method, base, world, engine and curriculum, and run settings."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

import tyro

from handaxe.core.errors import MethodError
from handaxe.methods.config_file import ConfigFile, read_config
from handaxe.methods.flags import Option, list_options, option_class, read_options, unwrap_partial
from handaxe.methods.method import RunSettings
from handaxe.methods.run_spec import NAMED, NamedFactory, RunSpec, RunTemplate, load_method, run_template
from handaxe.methods.settings_checks import check_settings

__all__ = ["FLAT", "Names", "Parsed", "option_names", "options_dataclass", "parse", "parse_train"]

FLAT: Any = tyro.conf.arg(name="")
"""Annotation of a dataclass with options without a prefix."""
HELP = ("-h", "--help")
NO_VALUES: Mapping[str, Any] = MappingProxyType({})


@dataclasses.dataclass(frozen=True)
class Names:
    """Names of base, world, engine and curriculum, and the configuration file.

    Args:
        base: base method; by default the base on the page of the method.
        world: by default the world on the page of the method.
        engine: samples and trains; by default local.
        curriculum: chooses the tasks of each step, for a method without a curriculum of its own; `handaxe methods`
            lists the names.
        config: file of options, TOML or the recipe.json of a run; options of the command line win.
    """

    base: str = ""
    world: str = ""
    engine: str = ""
    curriculum: str = ""
    config: Path | None = None


class Parsed(NamedTuple):
    """A parsed command line, before the engine is imported: an instance for each name of `also`, and the spec without
    options of the engine."""

    also: Mapping[str, Any]
    spec: RunSpec


def parse_train(
    method: str,
    words: list[str],
    *,
    prog: str,
    also: Mapping[str, type],
    check: Callable[[Parsed], None] = lambda parsed: None,
    import_engine: bool = True,
) -> tuple[RunSpec, dict[str, Any]]:
    """Parse a command line: first the names, then the options of the named parts.

        own options and settings     --smooth 2 --steps 30           --base NAME     --base.OPTION ...
        of a named part              nested                          --world NAME    --world.OPTION ...
        of a file                    --config FILE                   see methods.config_file

    A part that the command line names takes its own defaults instead of the options in the file.

    Args:
        method: name of the method; "" for the method of the file.
        words: the words after the name.
        prog: shown in help.
        also: name -> dataclass of further options without a prefix.
        check: called before the engine is imported, which takes seconds, unless an option of the engine is given.
        import_engine: False leaves options of the engine out of the spec, if none is given.

    Returns:
        The spec, and an instance for each name of `also`.

    Raises:
        InputError: a name does not exist, a setting is out of range, or the file has an unknown option.
        MethodError: two options without a prefix share a name.
        SystemExit: code 2 after a parse error, 0 after --help.
    """
    plain = [word for word in words if word not in HELP]
    names, _ = tyro.cli(Names, args=plain, prog=prog, return_unknown_args=True, add_help=False)
    config = None if names.config is None else _chosen(read_config(names.config), method, names)
    if not (method := method or ("" if config is None else config.method)):
        raise MethodError(f"the method is missing: name it after `{prog}`, or in the file of --config")
    chosen = names if config is None else _named(names, config)
    eager = len(plain) < len(words) or any(word.startswith("--engine.") for word in words)
    eager = eager or (config is not None and config.has_part("engine"))
    template = run_template(
        method,
        base=chosen.base,
        world=chosen.world,
        engine=chosen.engine or "local",
        curriculum=chosen.curriculum,
        import_engine=eager,
    )
    template.check({name: "every run" for kind in (*also.values(), Names) for name in option_names(kind)})
    kinds = _kinds(template, chosen, config, also)
    found = parse(kinds, words, prog=prog, description=_summary(template))
    check_settings(found["settings"])
    options = {"": vars(found["own"])}
    options |= {part: vars(found[part]) if part in found else {} for part in template.parts() if part}
    check(Parsed({name: found[name] for name in also}, RunSpec(template, found["settings"], options)))
    if not eager and import_engine:
        template = template.with_engine()
        options["engine"] = read_options(template.engine.options(), {}, owner=f"engine {template.engine.name}")
    return RunSpec(template, found["settings"], options), {name: found[name] for name in also}


def _chosen(config: ConfigFile, method: str, names: Names) -> ConfigFile:
    """The file without the options of parts that the command line replaces."""
    gone = set[str]()
    if method and config.method and method != config.method:
        gone |= {"base"} | {one.name for one in load_method(config.method).options()}
        gone |= {name for name in config.arguments if name.startswith("base.")}
    for part in NAMED:
        given = getattr(names, part)
        if given and given != config.arguments.get(part, given):
            gone |= {name for name in config.arguments if name.startswith(f"{part}.")}
    return config.without(gone)


def _named(names: Names, config: ConfigFile) -> Names:
    base, world, engine, curriculum = (getattr(names, part) or str(config.arguments.get(part, "")) for part in NAMED)
    return Names(base, world, engine, curriculum, names.config)


def _kinds(
    template: RunTemplate, names: Names, config: ConfigFile | None, also: Mapping[str, type]
) -> dict[str, tuple[Any, Any]]:
    """Dataclasses of a command line with the values of the file as defaults, for `parse`."""
    parts, settings = template.parts(), template.settings()
    values: dict[str, dict[str, Any]] = {part: {} for part in parts}
    more: dict[str, Any] = dict.fromkeys(also)
    if config is not None:
        known = {*NAMED, *RunSettings.__dataclass_fields__}
        known |= {f"{part}.{one.name}" if part else one.name for part, made in parts.items() for one in made.options()}
        config.check(known | {name for kind in also.values() for name in option_names(kind)})
        values = {part: config.values(made.options(), prefix=f"{part}." * bool(part)) for part, made in parts.items()}
        settings = dataclasses.replace(settings, **config.values(list_options(RunSettings)))
        more = {name: _instance(kind, config) for name, kind in also.items()}
    base = "" if template.base is None else template.base.name
    shown = dataclasses.replace(names, base=base, world=template.world.name, engine=template.engine.name)
    kinds: dict[str, tuple[Any, Any]] = {"own": (Annotated[options_dataclass(parts.pop(""), values[""]), FLAT], None)}
    kinds |= {"settings": (Annotated[RunSettings, FLAT], settings)}
    kinds |= {name: (Annotated[kind, FLAT], more[name]) for name, kind in also.items()}
    kinds |= {"names": (Annotated[Names, FLAT], shown)}
    return kinds | {
        name: (options_dataclass(part, values[name]), None) for name, part in parts.items() if part.options()
    }


def _instance(kind: Any, config: ConfigFile) -> Any:
    """An instance of a dataclass of options, and of FLAT dataclasses in it, with the values of the file."""
    plain, flat = list[Option](), dict[str, Any]()
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if FLAT in getattr(hint, "__metadata__", ()):
            flat[name] = _instance(get_args(hint)[0], config)
        else:
            plain.append(Option(name, hint, None))
    return kind(**config.values(plain), **flat)


def option_names(kind: type) -> Iterator[str]:
    """Names of the options of a dataclass, with the options of FLAT dataclasses in it."""
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if FLAT in getattr(hint, "__metadata__", ()):
            yield from option_names(get_args(hint)[0])
        else:
            yield name


def options_dataclass(factory: NamedFactory, values: Mapping[str, Any] = NO_VALUES) -> type:
    """Make a dataclass with a field for each option of a factory; `values` replace defaults."""
    options = [one._replace(default=values.get(one.name, one.default)) for one in factory.options()]
    return option_class("Options", options, unwrap_partial(factory.make)[0].__doc__)


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
    # Help texts from comments would be looked for in the source of every class, a third of the time of a parse.
    config = (tyro.conf.FlagCreatePairsOff, tyro.conf.HelptextFromCommentsOff)
    return dict(vars(tyro.cli(whole, args=words, prog=prog, description=description, config=config)))


def _summary(template: RunTemplate) -> str:
    return (unwrap_partial(template.method.make)[0].__doc__ or "").strip().partition("\n")[0]
