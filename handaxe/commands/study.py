"""`handaxe study NAME`: compute the figures of a study, and compare them with the paper's bounds."""

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from rich.box import SIMPLE_HEAD

from handaxe.commands.output import console, write_json
from handaxe.core.errors import MethodError
from handaxe.methods.catalog import list_studies
from handaxe.view.fitted_table import FittedTable

__all__ = ["StudyOptions", "main"]


@dataclass(frozen=True)
class StudyOptions:
    """Compute the figures of a study, and print figures and verdicts.

    Args:
        name: of the study.
        seed: of random draws, if the study has any.
        json: also write figures and verdicts to this file.
    """

    name: tyro.conf.Positional[str] = ""
    seed: int = 0
    json: Path | None = None


def main(arguments: list[str]) -> int:
    """Compute and print; returns the exit code."""
    options = tyro.cli(StudyOptions, args=arguments, prog="handaxe study")
    found = {one.name: one for one in list_studies()}
    if options.name not in found:
        raise MethodError(f"there is no study {options.name!r}; there are {', '.join(found)}")
    one = found[options.name]
    figures = dict(getattr(importlib.import_module(one.module), one.name)()(options.seed))
    table = FittedTable(box=SIMPLE_HEAD)
    for name in ("figure", "value"):
        table.add_column(name)
    for name, value in figures.items():
        table.add_row(name, f"{value:.4g}")
    terminal, verdicts = console(), list[dict[str, Any]]()
    terminal.print(table)
    for bound in one.page.bounds:
        verdict = "holds" if bound.holds(figures) else "does not hold"
        verdicts.append({"text": bound.text, "bound": bound.condition, "verdict": verdict})
        terminal.print(f"{verdict}: {bound.text} ({bound.condition})", markup=False)
    write_json(options.json, {"study": one.name, "seed": options.seed, "figures": figures, "verdicts": verdicts})
    return 0
