"""Taxonomies of surveys: each survey's own division, with the modules of handaxe that realise its leaves.

A survey is a folder of `papers` with a taxonomy.toml:

    title = "..."                      short, arxiv, number and about as in paper.toml
    read = "abstract"                  source of the division
    leaves = [
        { path = "Planning / Search", here = ["handaxe.rollouts.search.mcts"], note = "..." },
        { path = "Planning / Decomposition", missing = "the reason in one sentence" },
    ]
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import handaxe
from handaxe.core.errors import InputError

__all__ = ["Leaf", "TAXONOMY_PAGE", "Taxonomy", "list_taxonomies", "read_taxonomy", "source_of"]

TAXONOMY_PAGE = "taxonomy.toml"
FIELDS = ("title", "short", "arxiv", "number", "about", "read", "leaves")
HOME = Path(handaxe.__file__).parent


class Leaf(NamedTuple):
    """A leaf of a division.

    path     names from the top
    here     modules or packages that realise it; () if none does
    missing  reason why none does; "" if some does
    note     what the modules do, or which part is absent
    """

    path: tuple[str, ...]
    here: tuple[str, ...] = ()
    missing: str = ""
    note: str = ""


class Taxonomy(NamedTuple):
    """A survey. `folder` contains taxonomy.toml; `read` names the source of the division, such as "abstract"."""

    folder: Path
    title: str
    short: str
    arxiv: str
    number: int
    about: str
    read: str
    leaves: tuple[Leaf, ...]


def list_taxonomies(home: Path = HOME) -> list[Taxonomy]:
    """Every survey, by number.

    Args:
        home: folder of the package.

    Raises:
        InputError: as `read_taxonomy`.
    """
    pages = sorted((home / "papers").glob(f"*/{TAXONOMY_PAGE}"))
    return sorted((read_taxonomy(page, home) for page in pages), key=lambda one: one.number)


@cache
def read_taxonomy(page: Path, home: Path = HOME) -> Taxonomy:
    """Read and check a page.

    Args:
        page: the file.
        home: folder of the package, for the modules.

    Raises:
        InputError: a field is missing or unknown; a leaf names no module and no reason, or both, or a module that does
            not exist; or two leaves have one path.
    """
    try:
        fields = tomllib.loads(page.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{page}: {error}") from error
    if wrong := sorted(set(FIELDS) ^ set(fields)):
        raise InputError(f"{page}: the fields {', '.join(wrong)} are missing or unknown; fields: {', '.join(FIELDS)}")
    leaves = tuple(_leaf(page, number, found, home) for number, found in enumerate(fields.pop("leaves"), 1))
    paths = [leaf.path for leaf in leaves]
    if twice := sorted({" / ".join(path) for path in paths if paths.count(path) > 1}):
        raise InputError(f"{page}: two leaves are named {twice[0]!r}")
    return Taxonomy(page.parent, leaves=leaves, **{**fields, "about": fields["about"].strip()})


def source_of(module: str, home: Path = HOME) -> Path | None:
    """File of a module, or of a package's `__init__`, without importing it; None if there is none."""
    place = home.parent.joinpath(*module.split("."))
    return next((file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()), None)


def _leaf(page: Path, number: int, found: dict[str, Any], home: Path) -> Leaf:
    where = f"{page}: leaf {number}"
    if unknown := sorted(set(found) - set(Leaf._fields)):
        raise InputError(f"{where} has the unknown fields {', '.join(unknown)}; fields: {', '.join(Leaf._fields)}")
    path = tuple(part.strip() for part in found.get("path", "").split("/"))
    here = tuple(found.get("here", ()))
    if not all(path):
        raise InputError(f"{where} has no path, such as 'Planning / Search'")
    if bool(here) == bool(found.get("missing")):
        raise InputError(f"{where} ({path[-1]}) needs modules in here, or a reason in missing, and not both")
    for module in here:
        if not module.startswith("handaxe.") or source_of(module, home) is None:
            raise InputError(f"{where} ({path[-1]}) names {module!r}, and there is no such module")
    return Leaf(path, here, found.get("missing", ""), found.get("note", ""))
