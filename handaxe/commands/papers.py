"""`handaxe papers [--check]`: write PAPERS.md, or say whether it is stale."""

import difflib
from dataclasses import asdict, dataclass
from pathlib import Path

import tyro

import handaxe
from handaxe.commands.output import console, note
from handaxe.errors import HandaxeError, InputError
from handaxe.recipes.catalogue import Listed, find_recipes
from handaxe.view.papers import Entry, mechanisms_of, papers_page, parts_of, read_result

__all__ = ["PapersOptions", "main", "page"]


@dataclass(frozen=True)
class PapersOptions:
    """Write PAPERS.md from the source and from results/.

    Args:
        check: write nothing; fail when PAPERS.md is not what would be written.
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
    file, text = root / "PAPERS.md", page(root)
    if not options.check:
        file.write_text(text, encoding="utf-8")
        note(console(), "written", str(file))
        return 0
    old = file.read_text(encoding="utf-8") if file.exists() else ""
    if old != text:
        changes = list(difflib.unified_diff(old.splitlines(), text.splitlines(), n=0, lineterm=""))[2:]
        first = "\n  ".join(changes[:6])
        raise HandaxeError(f"PAPERS.md is stale in {len(changes)} lines; `handaxe papers` writes it anew:\n  {first}")
    note(console(), "checked", f"{file} is up to date")
    return 0


def page(root: Path) -> str:
    """PAPERS.md for a checkout: numbered papers by number, then the base algorithms by name."""
    listed = find_recipes([str(root / "handaxe" / "recipes")])
    entries = [_entry(root, one) for one in sorted(listed, key=_order) if one.paper is not None]
    results = {one.name: read_result(root / "results" / f"{one.name}.json") for one in entries}
    baselines = {one.name: read_result(root / "results" / f"{one.name}_baseline.json") for one in entries}
    return papers_page(entries, mechanisms_of(root), results, baselines)


def _order(one: Listed) -> tuple[bool, int, str]:
    number = one.paper.number if one.paper else None
    return (number is None, number or 0, one.name)


def _entry(root: Path, one: Listed) -> Entry:
    assert one.paper is not None
    file = one.file.relative_to(root).as_posix()
    entry = Entry(one.name, file, one.paper.title, one.paper.short, one.paper.arxiv, parts=parts_of(root, one.file))
    if one.claim is None:
        return entry
    return entry._replace(**asdict(one.claim))
