"""`handaxe show NUMBER|NAME`: print a paper of the project's list, complete, in part or not here."""

from collections.abc import Sequence

from rich.console import Console

from handaxe.commands.output import console, note
from handaxe.commands.papers import read_methods
from handaxe.methods.catalog import HOME
from handaxe.methods.titles import PaperTitle, find_title
from handaxe.view.papers import find_decision
from handaxe.view.verdicts import claim_with_baseline

__all__ = ["print_paper"]

STATES = {
    "complete": "complete: every contribution of the abstract is here",
    "in part": "in part: contributions of the abstract are missing",
    "survey": "a survey: its division, with the modules of each leaf",
    "not here": "not here",
}
"""State -> its line."""


def print_paper(asked: str) -> int:
    """Print the paper that `asked` names; returns the exit code.

    Raises:
        InputError: no paper or several papers have the name.
    """
    found, terminal = find_title(asked), console()
    number = "" if found.number is None else f"{found.number} "
    note(terminal, "paper", f"{number}{found.title}")
    page = found.paper or found.survey
    if page is not None and page.arxiv:
        note(terminal, "arXiv", f"https://arxiv.org/abs/{page.arxiv}")
    note(terminal, "state", STATES[found.state])
    if page is not None and page.about:
        terminal.print()
        terminal.print(" ".join(page.about.split()), markup=False)
    terminal.print()
    if found.state == "not here":
        note(terminal, "mechanism", found.mechanism)
        note(terminal, "needs", found.needs)
    if found.survey is not None:
        covered = sum(bool(leaf.here) for leaf in found.survey.leaves)
        note(terminal, "leaves", f"{len(found.survey.leaves)}, of which {covered} have modules here")
        note(terminal, "page", f"{found.survey.folder / 'README.md'}, docs/field.md")
    if found.paper is not None:
        _print_page(found, terminal)
    return 0


def _print_page(found: PaperTitle, terminal: Console) -> None:
    """Print missing parts, methods with claims, departures, and the commands."""
    paper, folder = found.paper, found.folder
    assert paper is not None and folder is not None
    entries = read_methods(HOME.parent, {one.name for one in paper.all_methods})
    _print_list("Missing", paper.missing, terminal)
    for entry in entries:
        method = entry.method
        note(terminal, "method", f"{method.name}: {method.summary}")
        for claim in method.page.claims:
            decided = find_decision(claim, entry.result)
            verdict = "not replicated yet" if decided is None else decided.decision.verdict
            text = f"  {verdict}: {claim.text} ({claim_with_baseline(claim, method.page.base)})"
            terminal.print(text, markup=False)
        _print_list("Differs", method.page.differs, terminal)
        _print_list("Unconfirmed", method.page.unconfirmed, terminal)
        note(terminal, "train", f"handaxe train {method.name}")
        if method.page.claims:
            note(terminal, "decide", f"handaxe replicate {method.name}")
    for study in paper.studies:
        note(terminal, "study", f"handaxe study {study.name}")
    for pipeline in paper.pipelines:
        note(terminal, "pipeline", f"handaxe synthesize {pipeline}")
    note(terminal, "files", str(folder))


def _print_list(title: str, sentences: Sequence[str], terminal: Console) -> None:
    if sentences:
        terminal.print(title, style="bright_black", markup=False)
        for one in sentences:
            terminal.print(f"  - {one}", markup=False)
