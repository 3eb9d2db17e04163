"""The project's list of papers: every title with its state here, complete, in part or not here."""

from __future__ import annotations

import csv
import difflib
from pathlib import Path
from typing import Literal, NamedTuple

import handaxe
from handaxe.core.errors import InputError
from handaxe.methods.catalog import METHOD_FOLDERS
from handaxe.methods.paper import PAGE, Paper, read_paper
from handaxe.methods.taxonomy import Taxonomy, list_taxonomies

__all__ = ["PaperTitle", "State", "find_title", "list_titles"]

State = Literal["complete", "in part", "survey", "not here"]
HOME = Path(handaxe.__file__).parent
TITLES = "papers/titles.tsv"
"""Columns number, short, title, mechanism and needs; the last two describe papers that are not here."""
SHOWN = 6


class PaperTitle(NamedTuple):
    """A title of the list.

    number     in the list; None for a paper beside it
    short      name in tables
    title      of the paper
    state      complete: every contribution of the abstract is here; in part: `paper.missing` names the others
    mechanism  of a paper that is not here
    needs      what stands between the paper and this library
    folder     of a paper that is here
    paper      its page
    survey     its division
    """

    number: int | None
    short: str
    title: str
    state: State
    mechanism: str = ""
    needs: str = ""
    folder: Path | None = None
    paper: Paper | None = None
    survey: Taxonomy | None = None


def list_titles(home: Path = HOME) -> list[PaperTitle]:
    """Every title, numbered ones first, in the order of the numbers.

    Args:
        home: folder of the package.

    Raises:
        MethodError, InputError: the page of a folder is not valid.
    """
    here = {one.number: one for one in _papers(home)}
    surveys = {one.number: one for one in list_taxonomies(home)}
    found = []
    with (home / TITLES).open(encoding="ascii", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            number = int(row["number"])
            if number in surveys:
                survey = surveys[number]
                title = PaperTitle(number, row["short"], row["title"], "survey", folder=survey.folder, survey=survey)
            elif number in here:
                title = here.pop(number)._replace(short=row["short"], title=row["title"])
            else:
                title = PaperTitle(number, row["short"], row["title"], "not here", row["mechanism"], row["needs"])
            found.append(title)
    return [*found, *(one for one in _papers(home) if one.number is None)]


def find_title(asked: str, home: Path = HOME) -> PaperTitle:
    """Find a paper by number, folder, short name, arXiv id, or words of the title.

    Args:
        asked: such as "97", "otc", "ToolRL", "2504.14870" or "eureka".
        home: folder of the package.

    Raises:
        InputError: no title matches, or several do; the message lists them.

    Example:
        find_title("1").short == "OTC (Optimal Tool Calls)"
    """
    titles, words = list_titles(home), asked.strip().lower()
    exact = [one for one in titles if words in _names(one)]
    found = exact or [one for one in titles if words and words in f"{one.short} {one.title}".lower()]
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(_label(one) for one in found[:SHOWN])
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        raise InputError(f"{len(found)} papers match {asked!r}: {shown}{more}; give a number")
    close = difflib.get_close_matches(words, [name for one in titles for name in _names(one)], n=3, cutoff=0.6)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    raise InputError(f"no run and no paper is named {asked!r}{hint} (papers have numbers from 1 to {_last(titles)})")


def _papers(home: Path) -> list[PaperTitle]:
    """Papers with a folder."""
    made = []
    for kind in METHOD_FOLDERS:
        for page in sorted((home / kind).glob(f"*/{PAGE}")):
            paper = read_paper(page.parent)
            if paper.title:
                state: State = "in part" if paper.missing else "complete"
                made.append(PaperTitle(paper.number, paper.short, paper.title, state, folder=page.parent, paper=paper))
    return made


def _names(one: PaperTitle) -> set[str]:
    """Names that mean this paper alone."""
    names = {one.short, one.title}
    if one.number is not None:
        names.add(str(one.number))
    if one.folder is not None:
        names.add(one.folder.name)
    for page in (one.paper, one.survey):
        if page is not None:
            names |= {page.arxiv, page.short}
    if one.paper is not None:
        names |= {method.name for method in one.paper.all_methods}
    return {name.lower() for name in names if name}


def _label(one: PaperTitle) -> str:
    return one.short if one.number is None else f"{one.number} {one.short}"


def _last(titles: list[PaperTitle]) -> int:
    return max(one.number for one in titles if one.number is not None)
