"""`handaxe methods`: list the methods, from pages of folders, without importing a method, and the curricula."""

from dataclasses import asdict, dataclass
from pathlib import Path

import tyro
from rich.box import SIMPLE_HEAD
from rich.text import Text

from handaxe.commands.output import console, write_json
from handaxe.methods.catalog import ListedMethod, list_methods
from handaxe.methods.lookup import list_names
from handaxe.view.fitted_table import FittedTable

__all__ = ["MethodsOptions", "main"]


@dataclass(frozen=True)
class MethodsOptions:
    """List the methods with base, arXiv id and main claim, and the names of --curriculum.

    Args:
        json: write the list to this file, with papers and claims.
    """

    json: Path | None = None


def main(arguments: list[str]) -> int:
    """List; returns the exit code."""
    options = tyro.cli(MethodsOptions, args=arguments, prog="handaxe methods")
    found, terminal = list_methods(), console()
    table = FittedTable(box=SIMPLE_HEAD)
    for name in ("method", "base", "arXiv", "main claim, or summary"):
        table.add_column(name, no_wrap=name in ("method", "arXiv"))
    for one in found:
        text = one.page.claims[0].text if one.page.claims else one.summary
        table.add_row(Text(one.name, style="bold"), Text(one.page.base), Text(one.paper.arxiv), Text(text))
    terminal.print(table)
    curricula = list_names("curricula")
    terminal.print("handaxe train METHOD --help  lists the options of a method", style="bright_black", markup=False)
    terminal.print(f"--curriculum NAME  is one of {', '.join(curricula)}", style="bright_black", markup=False)
    write_json(options.json, {"methods": [_plain(one) for one in found], "curricula": curricula})
    return 0


def _plain(one: ListedMethod) -> dict[str, object]:
    paper = {"title": one.paper.title, "arxiv": one.paper.arxiv, "number": one.paper.number}
    names = {"name": one.name, "summary": one.summary, "base": one.page.base, "world": one.page.world}
    return {**names, "paper": paper, "claims": [asdict(claim) for claim in one.page.claims]}
