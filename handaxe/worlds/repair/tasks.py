"""Tasks of `repair`: mutated functions of packages with tests in the wheel, from `mutants.json`."""

from __future__ import annotations

import functools
import hashlib
import json
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.worlds.repair.runner import Runner, runner
from handaxe.worlds.repair.source import Edit, Function, read_functions, replace_token

__all__ = ["FILE", "Module", "Mutant", "Source", "make_runner", "module_source", "mutants", "text_digest"]

FILE = Path(__file__).with_name("mutants.json")
"""Made by `handaxe.worlds.repair.mine`."""


class Module(NamedTuple):
    """Module of a package, with tests.

    package, version: distribution. name, tests: names of both modules. digest: of the module's file. names: tests that
    need no fixture and little time.
    """

    package: str
    version: str
    name: str
    tests: str
    digest: str
    names: tuple[str, ...]


class Mutant(NamedTuple):
    """Mutation of a module.

    edit: the mutation, from the original to the faulty token. function: mutated function. shown: a test that fails.
    killers: number of tests that fail, 2 or more. reads, tries: readings of the expert in the brief form, and its
    replacements.
    """

    module: Module
    edit: Edit
    function: str
    shown: str
    killers: int
    reads: int
    tries: int


class Source(NamedTuple):
    """Original source of a module: lines, and functions."""

    rows: tuple[str, ...]
    functions: tuple[Function, ...]

    def mutated(self, edit: Edit) -> tuple[str, ...]:
        """The lines with a mutation."""
        row = replace_token(self.rows[edit.line - 1], edit)
        if row is None:
            raise InputError(f"line {edit.line} has no {edit.old!r} number {edit.occurrence}: mine the tasks again")
        return (*self.rows[: edit.line - 1], row, *self.rows[edit.line :])


@functools.cache
def mutants() -> tuple[Mutant, ...]:
    """Read the tasks of the file."""
    found = []
    for one in json.loads(FILE.read_text()):
        package, version, name, tests, digest, names, rows = one
        module = Module(package, version, name, tests, digest, tuple(names))
        for line, occurrence, old, new, function, shown, killers, reads, tries in rows:
            edit = Edit(line, occurrence, old, new)
            found.append(Mutant(module, edit, function, names[shown], killers, reads, tries))
    return tuple(found)


@functools.cache
def module_source(package: str, version: str, name: str, digest: str = "") -> Source:
    """Read a module of an installed package without an import.

    Raises:
        InputError: the package is missing, has another version, or its file has another digest.
    """
    how = f'pip install "handaxe[repair]" installs {package} {version}'
    try:
        distribution = metadata.distribution(package)
    except metadata.PackageNotFoundError as error:
        raise InputError(f"the world repair needs {package}, which is not installed: {how}") from error
    if distribution.version != version:
        raise InputError(
            f"the world repair has tasks for {package} {version}, and {distribution.version} is installed: {how}"
        )
    text = Path(str(distribution.locate_file(name.replace(".", "/") + ".py"))).read_text()
    if digest and text_digest(text) != digest:
        raise InputError(f"the file of {name} was changed after its installation: {how} with --force-reinstall")
    return Source(tuple(text.split("\n")), read_functions(text))


def text_digest(text: str) -> str:
    """Digest of a file's text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def make_runner(package: str) -> Runner:
    """The runner of a package's tests."""
    return runner((package, "pytest"))
