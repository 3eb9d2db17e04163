"""`handaxe recipes`: list the recipes. Reads their source only, so it is quick."""

from dataclasses import asdict, dataclass
from pathlib import Path

import tyro
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from handaxe.commands.output import console, write_json
from handaxe.methods.catalogue import Listed, find_recipes

__all__ = ["RecipesOptions", "main"]


@dataclass(frozen=True)
class RecipesOptions:
    """List the recipes, each with the base that it changes and is measured against.

    Args:
        json: write the list to this file, with papers and all claims.
    """

    json: Path | None = None


def main(arguments: list[str]) -> int:
    """List; returns the exit code."""
    options = tyro.cli(RecipesOptions, args=arguments, prog="handaxe recipes")
    found, terminal = find_recipes(), console()
    table = Table(box=SIMPLE_HEAD)
    for name in ("recipe", "base", "arXiv", "main claim, or what it does"):
        table.add_column(name, no_wrap=name in ("recipe", "arXiv"))
    for one in found:
        arxiv = one.paper.arxiv if one.paper else ""
        said = one.claims[0].statement if one.claims else one.summary
        table.add_row(Text(one.name, style="bold"), Text(one.base), Text(arxiv), Text(said))
    terminal.print(table)
    terminal.print("handaxe train RECIPE --help  lists the options of one", style="bright_black", markup=False)
    write_json(options.json, {"recipes": [_plain(one) for one in found]})
    return 0


def _plain(one: Listed) -> dict[str, object]:
    paper = None if one.paper is None else asdict(one.paper)
    names = {"name": one.name, "summary": one.summary, "theme": one.theme, "base": one.base, "world": one.world}
    return {**names, "paper": paper, "claims": [asdict(claim) for claim in one.claims]}
