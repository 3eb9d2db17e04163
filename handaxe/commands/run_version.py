"""Version of the sources of a run: code and files. Comparisons reuse finished runs of an equal version."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import handaxe
from handaxe.methods.catalog import ListedMethod, list_methods, list_parts
from handaxe.methods.run_sources import source_digests

__all__ = ["run_version"]

HOME = Path(handaxe.__file__).parent
NO_EFFECT = ("commands", "testing", "view")
"""Folders of the package without effect on runs."""
IMPORTED = re.compile(r"\bhandaxe\.papers\.(\w+)")
"""A module of a paper, in an import or in MODULE:ATTRIBUTE."""
QUOTED = re.compile(r"""["'](\w+)["']""")
"""A name as text in the code of papers. Core code finds papers by names of the arguments alone."""
WORD = re.compile(r"\w+")


def run_version(arguments: Mapping[str, Any]) -> str:
    """Return the version of the package and a digest of a run's sources.

    Sources are the package without unrelated papers, modules of the user with their imports, and files named by the
    arguments. A paper is related if arguments or code of the run name the folder, a method, a world or a pipeline.

    Args:
        arguments: of the run, and the name of its method.

    Example:
        run_version({"method": "otc", "world": "arithmetic", "seed": 3}) -> "0.2.0+53a1c0de"
    """
    words = WORD.findall(json.dumps(arguments, default=str))
    found = hashlib.sha256(_package_digest(words).encode())
    found.update(json.dumps(source_digests(arguments), sort_keys=True).encode())
    return f"{handaxe.__version__}+{found.hexdigest()[:8]}"


def _package_digest(words: Iterable[str]) -> str:
    papers = sorted(_papers(words))
    bases = [(one.name, one.page.base) for one in _methods() if one.folder in papers or not _is_paper(one.folder)]
    parts = [_digest(_core()), *(_digest(_sources(folder)) for folder in papers), json.dumps(bases)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@cache
def _digest(files: tuple[Path, ...]) -> str:
    found = hashlib.sha256()
    for file in sorted(files):
        found.update(f"{file.relative_to(HOME)}\0".encode() + file.read_bytes() + b"\0")
    return found.hexdigest()


def _papers(words: Iterable[str]) -> set[Path]:
    """Folders of papers named by words, or by code or bases of the run."""
    homes = _homes()
    waiting = {homes[word] for word in words if word in homes} | _named(_core(), IMPORTED)
    found = set[Path]()
    while waiting:
        folder = waiting.pop()
        found.add(folder)
        bases = {word for one in _methods() if one.folder == folder for word in WORD.findall(one.page.base)}
        waiting |= {homes[word] for word in bases if word in homes}
        waiting |= _named(_sources(folder), IMPORTED) | _named(_sources(folder), QUOTED)
        waiting -= found
    return found


@cache
def _named(files: tuple[Path, ...], pattern: re.Pattern[str]) -> frozenset[Path]:
    """Folders of papers found in files by a pattern."""
    homes = _homes()
    names = {name for file in files for name in pattern.findall(file.read_text(encoding="utf-8"))}
    return frozenset(homes[name] for name in names if name in homes)


@cache
def _homes() -> dict[str, Path]:
    """Name of a paper's folder, method, world or pipeline -> folder."""
    papers = HOME / "papers"
    modules = {one.name: one.module for one in _methods()} | list_parts("worlds") | list_parts("pipelines")
    found = {name: module.split(".") for name, module in modules.items() if module.startswith("handaxe.papers.")}
    folders = {path.parent.name: path.parent for path in papers.glob("*/paper.toml")}
    return {name: papers / parts[2] for name, parts in found.items()} | folders


@cache
def _methods() -> tuple[ListedMethod, ...]:
    return tuple(list_methods(HOME))


def _is_paper(folder: Path) -> bool:
    return folder.parent == HOME / "papers"


@cache
def _core() -> tuple[Path, ...]:
    """Sources of the package with an effect on runs, without papers."""
    return tuple(file for file in _sources(HOME) if file.relative_to(HOME).parts[0] not in (*NO_EFFECT, "papers"))


@cache
def _sources(folder: Path) -> tuple[Path, ...]:
    """Code and prompts of a folder."""
    return (*folder.rglob("*.py"), *folder.rglob("prompts/*.md"))
