"""Configuration files of runs: TOML, or the recipe.json in the folder of a run.

    method = "grpo"
    steps = 20

    [world]
    name = "arithmetic"
    digits = 3

Keys are the options of the command line. The tables base, world, engine and curriculum have a name and options.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pydantic
import tomli_w

from handaxe.core.errors import InputError
from handaxe.methods.flags import Option
from handaxe.methods.named_mixture import replace_paths
from handaxe.methods.renames import METHODS, renamed_arguments
from handaxe.methods.run_sources import find_files, find_modules, present_path
from handaxe.methods.run_spec import NAMED, RunSpec

__all__ = ["ConfigFile", "dump_config", "read_config"]

NONE = "None"
"""None in a file, where the default is another value. TOML has no null."""
HEADER = re.compile(r"\s*\[([^\]]+)\]")
KEY = re.compile(r"""\s*(["']?)([\w.-]+)\1\s*[=.]""")


@dataclass(frozen=True)
class ConfigFile:
    """Content of a configuration file.

    path       of the file
    method     name of the method, "" for none
    arguments  options by name, as in `RunSpec.arguments`: "steps", "world", "world.digits"
    lines      option -> line; {} for a JSON file
    """

    path: Path
    method: str
    arguments: Mapping[str, Any]
    lines: Mapping[str, int]

    def without(self, names: Collection[str]) -> ConfigFile:
        """A copy without some options."""
        return replace(self, arguments={name: value for name, value in self.arguments.items() if name not in names})

    def has_part(self, part: str) -> bool:
        """Return True if the file sets an option of base, world, engine or curriculum."""
        return any(name.startswith(f"{part}.") for name in self.arguments)

    def check(self, known: Collection[str]) -> None:
        """Raise InputError for an option that is not among `known`; the error names the closest one."""
        for name in self.arguments:
            if name not in known:
                close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
                hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(sorted(known))}"
                raise InputError(f"{self._place(name)}: there is no option {name!r}; {hint}")

    def values(self, options: Sequence[Option], *, prefix: str = "") -> dict[str, Any]:
        """Values of options that the file sets, as Python values.

        Args:
            options: with types.
            prefix: of the names in the file, such as "world.".

        Raises:
            InputError: a value does not fit the type.
        """
        found = {}
        for one in options:
            name = prefix + one.name
            if name in self.arguments:
                found[one.name] = self._value(name, pydantic.TypeAdapter(one.type))
        return found

    def _value(self, name: str, adapter: pydantic.TypeAdapter[Any]) -> Any:
        given = self.arguments[name]
        try:
            if given == NONE:
                return adapter.validate_python(None)
        except pydantic.ValidationError:
            pass
        try:
            return adapter.validate_python(given)
        except pydantic.ValidationError as error:
            why = error.errors()[0]["msg"]
            raise InputError(f"{self._place(name)}: {name} is {given!r:.60} ({why})") from error

    def _place(self, name: str) -> str:
        line = self.lines.get(name)
        return str(self.path) if line is None else f"{self.path}, line {line}"


def read_config(path: Path) -> ConfigFile:
    """Read a TOML file, or the recipe.json of a run.

    Raises:
        InputError: the file is missing, does not parse, or is the recipe.json of a script.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the configuration {path} cannot be read: {error}") from error
    if path.suffix == ".json":
        return _recipe(path, text)
    try:
        body = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is no TOML file: {error}") from error
    method = body.pop("method", "")
    if not isinstance(method, str):
        raise InputError(f"{path}: method is {method!r}; give a name")
    arguments: dict[str, Any] = {}
    for name, value in body.items():
        key = name.replace("-", "_")
        if key in NAMED and isinstance(value, Mapping):
            arguments |= {key: str(value["name"])} if "name" in value else {}
            arguments |= {f"{key}.{n.replace('-', '_')}": one for n, one in value.items() if n != "name"}
        else:
            arguments[key] = value
    return ConfigFile(path, method, arguments, _lines(text))


def dump_config(spec: RunSpec) -> str:
    """All options of a run as TOML, which `read_config` reads back to the same run."""
    options = {part: factory.options() for part, factory in spec.template.parts().items()}
    defaults = {f"{part}.{one.name}" if part else one.name: one.default for part in options for one in options[part]}
    defaults |= vars(spec.template.settings())
    top: dict[str, Any] = {"method": spec.name}
    tables: dict[str, dict[str, Any]] = {}
    for name, given in spec.arguments().items():
        if given is None and defaults.get(name) is None:
            continue
        value = NONE if given is None else given
        part, dot, option = name.partition(".")
        if name in NAMED:
            tables.setdefault(name, {})["name"] = value
        elif dot:
            tables.setdefault(part, {})[option] = value
        else:
            top[name] = value
    return tomli_w.dumps({**top, **tables})


def _recipe(path: Path, text: str) -> ConfigFile:
    try:
        found = json.loads(text)["recipe"]
        name, saved = str(found["name"]), dict(found["arguments"])
        sources = dict(found.get("sources", {}))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not the recipe.json of a run that a method made: {error!r}") from error
    find_modules(sources, {"method": name, **saved}, path.parent)
    world = {name.removeprefix("world."): value for name, value in saved.items() if name.startswith("world.")}
    moved = replace_paths(world, find_files(sources, path.parent))
    saved |= {f"world.{option}": value for option, value in moved.items()}
    if "model" in saved:
        saved["model"] = present_path(str(saved["model"]), sources)
    method = METHODS.get(name, name)
    return ConfigFile(path, method, renamed_arguments(saved, method=name), {})


def _lines(text: str) -> dict[str, int]:
    """Option -> line of a TOML text."""
    found: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := HEADER.match(line):
            table = header[1].strip().strip("\"'").replace("-", "_")
            found.setdefault(table, number)
        elif key := KEY.match(line):
            name = key[2].replace("-", "_")
            found.setdefault(f"{table}.{name}" if table else name, number)
    return found
