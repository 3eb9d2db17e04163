"""Version of the code and files that a run depends on. Comparisons reuse a finished run while it is the same."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import handaxe
from handaxe.methods.catalog import list_methods, list_parts
from handaxe.methods.run_sources import source_digests

__all__ = ["run_version"]

HOME = Path(handaxe.__file__).parent
NO_EFFECT = ("commands", "testing", "view")
"""Folders of the package without effect on runs."""
IMPORTED = re.compile(r"\bhandaxe\.papers\.(\w+)")
"""A module of a paper, in an import or in MODULE:ATTRIBUTE."""
QUOTED = re.compile(r"""["'](\w+)["']""")
"""A name as text, in the code of papers: core code finds by name only what the arguments name."""
WORD = re.compile(r"\w+")


def run_version(arguments: Mapping[str, Any]) -> str:
    """Version of the package, with a digest of the sources of a run.

    The sources are the package without other papers, modules of the user with the modules that they import, and files
    that the arguments name. A paper is part of a run if arguments or code of the run name the folder, or one of its
    methods, worlds or pipelines.

    Args:
        arguments: of the run, and the name of its method.

    Example:
        run_version({"method": "otc", "world": "arithmetic", "seed": 3}) -> "0.2.0+53a1c0de"
    """
    words = frozenset(WORD.findall(json.dumps(arguments, default=str)))
    found = hashlib.sha256(_package_digest(words).encode())
    found.update(json.dumps(source_digests(arguments), sort_keys=True).encode())
    return f"{handaxe.__version__}+{found.hexdigest()[:8]}"


@cache
def _package_digest(words: frozenset[str]) -> str:
    found = hashlib.sha256()
    for file in sorted([*_core(), *(file for folder in _papers(words) for file in _sources(folder))]):
        found.update(f"{file.relative_to(HOME)}\0".encode() + file.read_bytes() + b"\0")
    return found.hexdigest()


def _papers(words: Iterable[str]) -> set[Path]:
    """Folders of the papers that words name, or that code of the run names."""
    homes = _homes()
    waiting = {homes[word] for word in words if word in homes} | set(_named(_core(), IMPORTED))
    found = set[Path]()
    while waiting:
        folder = waiting.pop()
        found.add(folder)
        waiting |= {*_named(_sources(folder), IMPORTED), *_named(_sources(folder), QUOTED)} - found
    return found


def _named(files: Iterable[Path], pattern: re.Pattern[str]) -> Iterator[Path]:
    """Folders of the papers that a pattern finds in files."""
    homes = _homes()
    for file in files:
        for name in pattern.findall(file.read_text(encoding="utf-8")):
            if name in homes:
                yield homes[name]


@cache
def _homes() -> dict[str, Path]:
    """Name of a paper's folder, method, world or pipeline -> folder."""
    papers = HOME / "papers"
    modules = {one.name: one.module for one in list_methods()} | list_parts("worlds") | list_parts("pipelines")
    found = {name: module.split(".") for name, module in modules.items() if module.startswith("handaxe.papers.")}
    folders = {path.parent.name: path.parent for path in papers.glob("*/paper.toml")}
    return {name: papers / parts[2] for name, parts in found.items()} | folders


@cache
def _core() -> tuple[Path, ...]:
    """Sources of the package that affect runs, without papers."""
    return tuple(file for file in _sources(HOME) if file.relative_to(HOME).parts[0] not in (*NO_EFFECT, "papers"))


@cache
def _sources(folder: Path) -> tuple[Path, ...]:
    """Code and prompts of a folder."""
    return (*folder.rglob("*.py"), *folder.rglob("prompts/*.md"))
