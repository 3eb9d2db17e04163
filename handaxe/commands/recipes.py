"""`handaxe recipes`: list the recipes. Reads their source only, so it is quick."""

from dataclasses import asdict, dataclass
from pathlib import Path

import tyro
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from handaxe.commands.output import console, write_json
from handaxe.recipes.catalogue import Listed, find_recipes

__all__ = ["RecipesOptions", "main"]


@dataclass(frozen=True)
class RecipesOptions:
    """List the recipes.

    Args:
        json: write the list to this file.
    """

    json: Path | None = None


def main(arguments: list[str]) -> int:
    """List; returns the exit code."""
    options = tyro.cli(RecipesOptions, args=arguments, prog="handaxe recipes")
    found, terminal = find_recipes(), console()
    table = Table(box=SIMPLE_HEAD)
    for name in ("recipe", "arXiv", "what it does"):
        table.add_column(name, no_wrap=name in ("recipe", "arXiv"))
    for one in found:
        arxiv = one.paper.arxiv if one.paper else ""
        table.add_row(Text(one.name, style="bold"), Text(arxiv), Text(one.summary))
    terminal.print(table)
    terminal.print("handaxe train RECIPE --help  lists the arguments of one", style="bright_black", markup=False)
    write_json(options.json, {"recipes": [_plain(one) for one in found]})
    return 0


def _plain(one: Listed) -> dict[str, object]:
    paper, claim = (None if part is None else asdict(part) for part in (one.paper, one.claim))
    return {"name": one.name, "summary": one.summary, "paper": paper, "claim": claim}
