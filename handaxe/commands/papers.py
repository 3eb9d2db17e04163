"""`handaxe papers [--check | --plots FOLDER]`: write or check PAPERS.md, the README.md of each paper and survey, and
docs/field.md."""

import difflib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro

import handaxe
from handaxe.commands.output import checkout, console, note
from handaxe.core.deferred import DeferredModule
from handaxe.core.errors import HandaxeError, InputError
from handaxe.evaluation.replication import Replication
from handaxe.methods.catalog import list_methods, list_studies
from handaxe.methods.taxonomy import list_taxonomies
from handaxe.view.papers import Entry, StudyEntry, corrected, folder_page, index_page
from handaxe.view.plots import plot_curves
from handaxe.view.taxonomies import map_page, survey_table, taxonomy_page

if TYPE_CHECKING:
    import handaxe.commands.stale as stale
else:
    stale = DeferredModule("handaxe.commands.stale")

__all__ = ["PapersOptions", "main", "pages", "read_entries", "read_methods"]


@dataclass(frozen=True)
class PapersOptions:
    """Write PAPERS.md and the README.md of each folder of baselines and papers, from source and results.

    Args:
        check: write nothing; fail if a page is stale, or the behaviour fingerprint of a result differs from the code's.
        pages: with --check, check the pages alone.
        plots: also draw the curves of every result into this folder; needs matplotlib, extra [plots].
        root: the checkout; by default the checkout of this package.
    """

    check: bool = False
    pages: bool = False
    plots: Path | None = None
    root: Path | None = None


def main(arguments: list[str]) -> int:
    """Write or check; returns the exit code, 1 for stale pages."""
    options = tyro.cli(PapersOptions, args=arguments, prog="handaxe papers")
    root = options.root or checkout()
    if root is None or not (root / "pyproject.toml").exists():
        raise InputError(f"{root or Path(handaxe.__file__).parent} is not a checkout of handaxe; pass --root FOLDER")
    entries, studies = read_entries(root)
    written = pages(root, entries, studies)
    for file, text in written.items():
        if options.check:
            _check(file, text)
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    if options.plots is not None:
        options.plots.mkdir(parents=True, exist_ok=True)
        for one in entries:
            if one.result is not None:
                plot_curves(one.result, options.plots / f"{one.method.name}.png")
    note(console(), "checked" if options.check else "written", f"{len(written)} pages")
    return _report_results(entries) if options.check and not options.pages else 0


def _report_results(entries: list[Entry]) -> int:
    """Check the fingerprints of results; returns the exit code, 1 for a stale result."""
    states, terminal = stale.check_results(entries), console()
    changed = [one for one in states if one.changed]
    for one in changed:
        terminal.print(f"stale: {one.describe()}", markup=False, highlight=False)
    for one in states:
        if one.reason:
            terminal.print(f"not checked: {one.describe()}", markup=False, highlight=False)
    bare = sum(one.bare for one in states)
    if bare:
        note(terminal, "unchecked", f"{bare} of {len(states)} results have no fingerprint; `handaxe replicate --stale`")
    if changed:
        note(terminal, "stale", f"{len(changed)} of {len(states)} results; run `handaxe replicate --stale`")
        return 1
    note(terminal, "checked", f"{len(states) - bare} results")
    return 0


def pages(root: Path, entries: list[Entry], studies: list[StudyEntry]) -> dict[Path, str]:
    """File -> text of each generated page of a checkout."""
    surveys = list_taxonomies(root / "handaxe")
    found = {root / "PAPERS.md": index_page(entries, studies, root) + survey_table(surveys, root)}
    for folder in sorted({one.method.folder for one in entries} | {one.study.file.parent for one in studies}):
        own = [one for one in entries if one.method.folder == folder]
        computed = [one for one in studies if one.study.file.parent == folder]
        paper = own[0].method.paper if own else computed[0].study.paper
        found[folder / "README.md"] = folder_page(paper, own, computed, root)
    found |= {one.folder / "README.md": taxonomy_page(one, root) for one in surveys}
    if surveys:
        found[root / "docs" / "field.md"] = map_page(surveys, root)
    return found


def read_methods(root: Path, names: Collection[str]) -> list[Entry]:
    """Methods of a checkout by name, with results, without a correction over all claims."""
    found = [one for one in list_methods(root / "handaxe") if one.name in names]
    return [Entry(one, _replication(one.result_file)) for one in found]


def read_entries(root: Path) -> tuple[list[Entry], list[StudyEntry]]:
    """Every method and study of a checkout, with results, corrected over all claims."""
    home = root / "handaxe"
    entries = corrected([Entry(one, _replication(one.result_file)) for one in list_methods(home)])
    return entries, [StudyEntry(one, _json(one.result_file)) for one in list_studies(home)]


def _replication(file: Path) -> Replication | None:
    try:
        return Replication.from_json(file.read_text(encoding="utf-8")) if file.exists() else None
    except InputError as error:
        raise InputError(f"{file}: {error}") from error


def _json(file: Path) -> Mapping[str, Any] | None:
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def _check(file: Path, text: str) -> None:
    old = file.read_text(encoding="utf-8") if file.exists() else ""
    if old != text:
        changes = list(difflib.unified_diff(old.splitlines(), text.splitlines(), n=0, lineterm=""))[2:]
        first = "\n  ".join(changes[:6])
        raise HandaxeError(f"{file} is stale in {len(changes)} lines; `handaxe papers` writes it:\n  {first}")
