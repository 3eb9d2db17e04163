"""`handaxe papers [--check]`: write PAPERS.md and tables of pages in docs, or say whether they are stale."""

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import tyro

import handaxe
from handaxe.commands.output import console, note
from handaxe.errors import HandaxeError, InputError
from handaxe.evaluation.replication import Replication
from handaxe.methods.catalogue import Listed, ListedStudy, find_recipes, find_studies
from handaxe.methods.paper import Paper
from handaxe.view.filled_tables import filled
from handaxe.view.papers import Entry, Mechanism, StudyEntry, mechanisms_of, papers_page, parts_of
from handaxe.view.verdicts import decided_by

__all__ = ["PapersOptions", "main", "page"]

FILLED = ("rewards.md", "credit.md")
"""Pages of docs with tables to be filled."""


@dataclass(frozen=True)
class PapersOptions:
    """Write PAPERS.md from the source and from results/, and the tables of docs/rewards.md and docs/credit.md.

    Args:
        check: write nothing; fail when one of them is not what would be written.
        root: the repository; the one that this package lies in unless told otherwise.
    """

    check: bool = False
    root: Path | None = None


def main(arguments: list[str]) -> int:
    """Write or check; returns the exit code, 1 when stale."""
    options = tyro.cli(PapersOptions, args=arguments, prog="handaxe papers")
    root = options.root or Path(handaxe.__file__).parents[1]
    if not (root / "pyproject.toml").exists():
        raise InputError(f"{root} is not a checkout of handaxe; pass --root FOLDER")
    entries = _entries(root)
    pages = {root / "PAPERS.md": page(root, entries)}
    for name in FILLED:
        if (file := root / "docs" / name).exists():
            pages[file] = filled(file.read_text(encoding="utf-8"), root / "handaxe", partial(_claims, entries))
    for file, text in pages.items():
        if options.check:
            _check(file, text)
        else:
            file.write_text(text, encoding="utf-8")
        note(console(), "checked" if options.check else "written", str(file))
    return 0


def _check(file: Path, text: str) -> None:
    old = file.read_text(encoding="utf-8") if file.exists() else ""
    if old != text:
        changes = list(difflib.unified_diff(old.splitlines(), text.splitlines(), n=0, lineterm=""))[2:]
        first = "\n  ".join(changes[:6])
        raise HandaxeError(f"{file.name} is stale in {len(changes)} lines; `handaxe papers` writes it anew:\n  {first}")


def page(root: Path, entries: Sequence[Entry] | None = None) -> str:
    """PAPERS.md for a checkout: numbered papers by number, then the base algorithms by name, then studies."""
    entries = _entries(root) if entries is None else entries
    studies = [_study(root, one) for one in find_studies(root / "handaxe")]
    return papers_page(entries, mechanisms_of(root), studies)


def _entries(root: Path) -> list[Entry]:
    listed = sorted(find_recipes(root / "handaxe"), key=_order)
    mechanisms = mechanisms_of(root)
    return [_entry(root, one, one.paper, mechanisms) for one in listed if one.paper is not None]


def _claims(entries: Sequence[Entry], name: str) -> list[tuple[str, str]]:
    """The claims of a recipe, each with what came of it, in short.

    Raises:
        InputError: there is no such recipe.
    """
    found = [one for one in entries if one.name == name]
    if not found:
        raise InputError(f"a page names the recipe {name!r}, and no recipe has that name")
    return [(decided_by(claim, found[0].base), found[0].brief(claim)) for claim in found[0].claims]


def _study(root: Path, one: ListedStudy) -> StudyEntry:
    file, asked = one.file.relative_to(root).as_posix(), tuple((bound.statement, bound.said) for bound in one.bounds)
    written = root / "results" / f"{one.name}.json"
    found = json.loads(written.read_text(encoding="utf-8")) if written.exists() else None
    return StudyEntry(one.name, file, one.paper.title, one.paper.short, one.paper.arxiv, asked, found)


def _order(one: Listed) -> tuple[bool, int, str]:
    number = one.paper.number if one.paper else None
    return (number is None, number or 0, one.name)


def _entry(root: Path, one: Listed, paper: Paper, mechanisms: Mapping[str, Sequence[Mechanism]]) -> Entry:
    parts, file = parts_of(root, one.file), one.file.relative_to(root).as_posix()
    # What cites the paper serves it, whether this file imports it or the loop brings it along.
    files = dict.fromkeys([file, *(part.file for part in (*parts, *mechanisms.get(paper.arxiv, [])))])
    return Entry(
        name=one.name,
        file=file,
        title=paper.title,
        short=paper.short,
        arxiv=paper.arxiv,
        base=one.base,
        world=one.world,
        claims=one.claims,
        parts=parts,
        unconfirmed=tuple(file for file in files if "unconfirmed" in (root / file).read_text(encoding="utf-8").lower()),
        replication=_replication(root / "results" / f"{one.name}.json"),
    )


def _replication(file: Path) -> Replication | None:
    """What `handaxe replicate` wrote into a file; None where there is none."""
    try:
        return Replication.from_json(file.read_text(encoding="utf-8")) if file.exists() else None
    except InputError as error:
        raise InputError(f"{file}: {error}") from error
