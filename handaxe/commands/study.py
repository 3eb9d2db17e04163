"""`handaxe study NAME`: compute the figures of a study, and compare them with the paper's bounds."""

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from rich.box import SIMPLE_HEAD

from handaxe.commands.configure import FLAT, options_dataclass, parse
from handaxe.commands.output import console, write_json
from handaxe.core.errors import MethodError
from handaxe.methods.catalog import list_studies
from handaxe.methods.flags import dump_options
from handaxe.methods.run_spec import NamedFactory
from handaxe.training.loop.progress import Bar, ticking
from handaxe.view.fitted_table import FittedTable

__all__ = ["StudyOptions", "main"]


USAGE = "usage: handaxe study NAME [OPTIONS]; `handaxe study NAME --help` shows the options of a study"
HELP = ("-h", "--help")


@dataclass(frozen=True)
class StudyOptions:
    """Compute the figures of a study, and print figures and verdicts. Verdicts are for the default options.

    Args:
        seed: of random draws, if the study has any.
        json: also write figures, verdicts, and options other than the defaults to this file.
    """

    seed: int = 0
    json: Path | None = None


def main(arguments: list[str]) -> int:
    """Compute and print; returns the exit code."""
    name, *words = arguments or [""]
    found = {one.name: one for one in list_studies()}
    if name in HELP:
        console().print(f"{USAGE}\n\nstudies: {', '.join(found)}", markup=False)
        return 0
    if name not in found:
        raise MethodError(f"there is no study {name!r}; there are {', '.join(found)}.\n{USAGE}")
    one = found[name]
    factory = NamedFactory(name, getattr(importlib.import_module(one.module), name))
    kinds: dict[str, tuple[Any, Any]] = {"study": (Annotated[StudyOptions, FLAT], None)}
    kinds |= {"own": (Annotated[options_dataclass(factory), FLAT], None)}
    parsed = parse(kinds, words, prog=f"handaxe study {name}", description=_summary(StudyOptions))
    options: StudyOptions = parsed["study"]
    given = {each.name: getattr(parsed["own"], each.name) for each in factory.options()}
    changed = [each for each in factory.options() if given[each.name] != each.default]
    with Bar(None, title=f"study {name}") as bar, ticking(bar):
        figures = dict(factory.make(**given)(options.seed))
    table = FittedTable(box=SIMPLE_HEAD)
    for column in ("figure", "value"):
        table.add_column(column)
    for figure, value in figures.items():
        table.add_row(figure, f"{value:.4g}")
    terminal, verdicts = console(), list[dict[str, Any]]()
    terminal.print(table)
    for bound in one.page.bounds:
        verdict = "holds" if bound.holds(figures) else "does not hold"
        verdicts.append({"text": bound.text, "bound": bound.condition, "verdict": verdict})
        terminal.print(f"{verdict}: {bound.text} ({bound.condition})", markup=False)
    made: dict[str, Any] = {"study": name, "seed": options.seed, "figures": figures, "verdicts": verdicts}
    if changed:
        made["options"] = dump_options(changed, given)
    write_json(options.json, made)
    return 0


def _summary(documented: object) -> str:
    return (documented.__doc__ or "").strip().partition("\n")[0]
