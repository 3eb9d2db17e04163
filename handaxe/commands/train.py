"""`handaxe train RECIPE [--its arguments]`: run a recipe, keep the run, and show what it came to."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from handaxe.commands.configure import configuration_class, parse, to_json
from handaxe.commands.output import check_writable, command_line, console, note, write_json
from handaxe.commands.report import print_outcome, read_outcome, result_body
from handaxe.errors import InputError, RecipeError
from handaxe.recipes.catalogue import find_recipes, load_recipe
from handaxe.recipes.paper import Recipe
from handaxe.training.loggers import Logger, tensorboard, trackio, wandb
from handaxe.training.loop import train
from handaxe.training.pace import Keep

__all__ = ["INTERRUPTED", "RunOptions", "Service", "main", "make_loggers", "new_folder", "run_recipe"]

Service = Literal["tensorboard", "wandb", "trackio"]
INTERRUPTED = 130


@dataclass(frozen=True)
class RunOptions:
    """Where a run goes.

    Args:
        out: folder of the run; runs/RECIPE-TIME unless told otherwise.
        log: also log metrics there (extra of the same name).
        json: write the result to this file.
        quiet: show no progress.
    """

    out: Path | None = None
    log: Service | None = None
    json: Path | None = None
    quiet: bool = False


def main(arguments: list[str]) -> int:
    """Train; returns the exit code."""
    if not arguments or arguments[0].startswith("-"):
        return _help(asked="-h" in arguments or "--help" in arguments)
    recipe = load_recipe(arguments[0])
    chosen = parse(
        {"configuration": configuration_class(recipe.build), "options": RunOptions},
        arguments[1:],
        prog=f"handaxe train {recipe.name}",
        description=(recipe.build.__doc__ or "").strip().partition("\n")[0],
    )
    options: RunOptions = chosen["options"]
    command = command_line(["train", *arguments])
    return run_recipe(recipe, vars(chosen["configuration"]), options, command=command)


def run_recipe(recipe: Recipe, arguments: Mapping[str, Any], options: RunOptions, *, command: str) -> int:
    """Build a recipe with these arguments, train it in a new folder, show and write the result; the exit code."""
    check_writable(options.json)
    folder = options.out or new_folder(Path("runs"), recipe.name)
    terminal = console()
    saved = to_json(recipe, arguments)
    if not options.quiet:
        note(terminal, "recipe", f"{recipe.name} {_paper(recipe)}")
        note(terminal, "run", str(folder))
    start = time.monotonic()
    kwargs = recipe.build(**arguments)
    facts = {"name": recipe.name, "arguments": saved, "command": command}
    loggers = make_loggers(options.log, folder, saved)
    keep = Keep(out=folder, loggers=loggers, progress=not options.quiet, recipe=facts)
    result = train(**kwargs, keep=keep)
    found = read_outcome(folder, stopped=result.stopped)
    print_outcome(found, terminal)
    seconds = time.monotonic() - start
    write_json(options.json, result_body(found, recipe=recipe.name, arguments=saved, command=command, seconds=seconds))
    return INTERRUPTED if result.stopped else 0


def make_loggers(log: Service | None, folder: Path, config: Mapping[str, Any]) -> tuple[Logger, ...]:
    """The logger of that name, if one was asked for. Raises InputError when its package is missing."""
    if log is None:
        return ()
    if log == "tensorboard":
        return (tensorboard(folder / "tensorboard"),)
    service = wandb if log == "wandb" else trackio
    return (service("handaxe", name=folder.name, config=config),)


def new_folder(parent: Path, name: str) -> Path:
    """A folder that is not there yet, named after the recipe and the time."""
    stem = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    for extra in ("", *(f"-{k}" for k in range(2, 100))):
        if not (parent / f"{stem}{extra}").exists():
            return parent / f"{stem}{extra}"
    raise InputError(f"there are a hundred runs named {stem} in {parent}; pass --out")


def _paper(recipe: Recipe) -> str:
    paper = recipe.paper
    return "" if paper is None else f"({paper.short}{', arXiv ' + paper.arxiv if paper.arxiv else ''})"


def _help(*, asked: bool) -> int:
    text = "usage: handaxe train RECIPE [--out FOLDER] [--log SERVICE] [--json FILE] [--quiet] [the recipe's arguments]"
    names = ", ".join(one.name for one in find_recipes())
    if not asked:
        raise RecipeError(f"which recipe? One of {names}.\n{text}")
    console().print(
        f"{text}\n\nrecipes: {names}\n`handaxe train RECIPE --help` lists the arguments of one.", markup=False
    )
    return 0
