"""`handaxe train RECIPE [options]`: run a recipe, keep the run, and show what it came to."""

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from handaxe.commands.configure import FLAT, parse_train
from handaxe.commands.outcome import print_claims, print_outcome, read_outcome, result_body
from handaxe.commands.output import check_new_folder, check_writable, command_line, console, note, write_json
from handaxe.core.errors import InputError, MethodError
from handaxe.methods.catalog import find_method, list_methods
from handaxe.methods.hardware import HERE, Machines
from handaxe.methods.run import run
from handaxe.methods.run_folder import method_record, spec_in_file
from handaxe.methods.run_spec import RunSpec
from handaxe.training.loop.config import RunConfig
from handaxe.training.loop.loggers import Logger, tensorboard, trackio, wandb

__all__ = ["INTERRUPTED", "RunOptions", "Service", "main", "make_loggers", "new_folder", "train_chosen"]

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
        machines: where it computes.
    """

    out: Path | None = None
    log: Service | None = None
    json: Path | None = None
    quiet: bool = False
    machines: Annotated[Machines, FLAT] = HERE


def main(arguments: list[str]) -> int:
    """Train; returns the exit code."""
    if not arguments or arguments[0].startswith("-"):
        return _help(asked="-h" in arguments or "--help" in arguments)
    name = arguments[0]
    if name.endswith(".json"):
        options = tyro.cli(
            RunOptions, args=arguments[1:], prog="handaxe train FILE", config=(tyro.conf.FlagCreatePairsOff,)
        )
        return train_chosen(spec_in_file(Path(name)), options, command=command_line(["train", *arguments]))
    chosen, more = parse_train(name, arguments[1:], prog=f"handaxe train {name}", also={"run": RunOptions})
    return train_chosen(chosen, more["run"], command=command_line(["train", *arguments]))


def train_chosen(chosen: RunSpec, options: RunOptions, *, command: str, resume: bool = False) -> int:
    """Train what was chosen, show and write the result; the exit code.

    Args:
        chosen: recipe and all its options.
        options: where the run goes; into a new folder unless told otherwise.
        command: what was typed, kept with the run and the result.
        resume: whether to go on with the run in `options.out`.
    """
    folder = options.out or new_folder(Path("runs"), chosen.name.replace(":", "."))
    if not resume:
        check_new_folder(folder)
    check_writable(options.json)
    options.machines.check()
    terminal, saved = console(), chosen.arguments()
    if not options.quiet:
        note(terminal, "resume" if resume else "recipe", f"{chosen.name} {_paper(chosen)}")
        note(terminal, "run", str(folder))
    start = time.monotonic()
    loggers = make_loggers(options.log, folder, saved)
    about, progress = method_record(chosen, command), not options.quiet
    try:
        keep = RunConfig(out=folder, resume=resume, loggers=loggers, progress=progress, recipe=about)
        result = run(chosen, keep, machines=options.machines)
    except KeyboardInterrupt:
        _say_stopped(folder)
        return INTERRUPTED
    found = read_outcome(folder, stopped=result.stopped)
    print_outcome(found, terminal)
    if not result.stopped:
        print_claims(chosen, terminal)
    seconds = time.monotonic() - start
    write_json(options.json, result_body(found, recipe=chosen.name, arguments=saved, command=command, seconds=seconds))
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


def _say_stopped(folder: Path) -> None:
    """What is left of a run that was stopped at once, where the run itself has not said it."""
    if not (folder / "record.sqlite").exists():
        sys.stderr.write("stopped before the run began: nothing was kept, and the same command begins it\n")
    elif (folder / "stages").exists():
        sys.stderr.write(f"stopped at once; `{command_line(['resume', str(folder)])}` goes on\n")


def _paper(chosen: RunSpec) -> str:
    listed = find_method(chosen.name)
    if listed is None or not listed.paper.title:
        return ""
    return f"({listed.page.short}{', arXiv ' + listed.paper.arxiv if listed.paper.arxiv else ''})"


def _help(*, asked: bool) -> int:
    text = (
        "usage: handaxe train RECIPE [its options] [--base RECIPE] [--world WORLD] [--engine ENGINE] [--out FOLDER]\n"
        "       RECIPE and the others are names, or MODULE:ATTRIBUTE of your own\n"
        "       handaxe train RUN/recipe.json ... begins the same anew"
    )
    names = ", ".join(one.name for one in list_methods())
    if not asked:
        raise MethodError(f"which recipe? One of {names}.\n{text}")
    console().print(
        f"{text}\n\nrecipes: {names}\n`handaxe train RECIPE --help` lists the options of one.", markup=False
    )
    return 0
