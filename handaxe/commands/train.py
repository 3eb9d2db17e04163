"""`handaxe train METHOD [options]`: train with a method, record the run, and print the results."""

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from handaxe.commands.configure import FLAT, parse_train
from handaxe.commands.output import check_new_folder, check_writable, command_line, console, note, write_json
from handaxe.commands.run_outcome import print_claims, print_outcome, read_outcome, result_body
from handaxe.core.errors import InputError, MethodError
from handaxe.methods.catalog import find_method, list_methods
from handaxe.methods.hardware import THIS_PROCESS, Machines
from handaxe.methods.run import run
from handaxe.methods.run_folder import method_record, spec_in_file
from handaxe.methods.run_spec import RunSpec
from handaxe.training.loop.config import RunConfig
from handaxe.training.loop.loggers import Logger, tensorboard, trackio, wandb

__all__ = ["INTERRUPTED", "RunOptions", "Service", "main", "make_loggers", "new_folder", "train_spec"]

Service = Literal["tensorboard", "wandb", "trackio"]
INTERRUPTED = 130


@dataclass(frozen=True)
class RunOptions:
    """Output and machines of a run.

    Args:
        out: folder of the run; by default runs/METHOD-TIME.
        log: also log metrics to this service (extra of the same name).
        json: write the result to this file.
        quiet: show no progress.
        machines: processes that compute.
    """

    out: Path | None = None
    log: Service | None = None
    json: Path | None = None
    quiet: bool = False
    machines: Annotated[Machines, FLAT] = THIS_PROCESS


def main(arguments: list[str]) -> int:
    """Train; returns the exit code."""
    if not arguments or arguments[0].startswith("-"):
        return _help(requested="-h" in arguments or "--help" in arguments)
    name = arguments[0]
    if name.endswith(".json"):
        options = tyro.cli(
            RunOptions, args=arguments[1:], prog="handaxe train FILE", config=(tyro.conf.FlagCreatePairsOff,)
        )
        return train_spec(spec_in_file(Path(name)), options, command=command_line(["train", *arguments]))
    spec, more = parse_train(name, arguments[1:], prog=f"handaxe train {name}", also={"run": RunOptions})
    return train_spec(spec, more["run"], command=command_line(["train", *arguments]))


def train_spec(spec: RunSpec, options: RunOptions, *, command: str, resume: bool = False) -> int:
    """Train a spec, print and write the results; returns the exit code.

    Args:
        spec: method and all options.
        options: output and machines; by default a new folder.
        command: the command line, stored with run and result.
        resume: continue the run in `options.out`.
    """
    folder = options.out or new_folder(Path("runs"), spec.name.replace(":", "."))
    if not resume:
        check_new_folder(folder)
    check_writable(options.json)
    options.machines.check()
    terminal, saved = console(), spec.arguments()
    if not options.quiet:
        note(terminal, "resume" if resume else "method", f"{spec.name} {_paper(spec)}")
        note(terminal, "run", str(folder))
    start = time.monotonic()
    loggers = make_loggers(options.log, folder, saved)
    about, progress = method_record(spec, command), not options.quiet
    try:
        keep = RunConfig(out=folder, resume=resume, loggers=loggers, progress=progress, recipe=about)
        result = run(spec, keep, machines=options.machines)
    except KeyboardInterrupt:
        _print_stopped(folder)
        return INTERRUPTED
    found = read_outcome(folder, stopped=result.stopped)
    print_outcome(found, terminal)
    if not result.stopped:
        print_claims(spec, terminal)
    seconds = time.monotonic() - start
    write_json(options.json, result_body(found, method=spec.name, arguments=saved, command=command, seconds=seconds))
    return INTERRUPTED if result.stopped else 0


def make_loggers(log: Service | None, folder: Path, config: Mapping[str, Any]) -> tuple[Logger, ...]:
    """Make the logger of a service; () for None. Raises InputError if a package is missing."""
    if log is None:
        return ()
    if log == "tensorboard":
        return (tensorboard(folder / "tensorboard"),)
    service = wandb if log == "wandb" else trackio
    return (service("handaxe", name=folder.name, config=config),)


def new_folder(parent: Path, name: str) -> Path:
    """A new folder, named after the method and the time."""
    stem = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    for extra in ("", *(f"-{k}" for k in range(2, 100))):
        if not (parent / f"{stem}{extra}").exists():
            return parent / f"{stem}{extra}"
    raise InputError(f"there are a hundred runs named {stem} in {parent}; pass --out")


def _print_stopped(folder: Path) -> None:
    """Print how to continue a run stopped before the training loop, which prints no message itself."""
    if not (folder / "record.sqlite").exists():
        sys.stderr.write("stopped before the run started: nothing was written, and the same command starts it\n")
    elif (folder / "stages").exists():
        sys.stderr.write(f"stopped in a stage; `{command_line(['resume', str(folder)])}` continues\n")


def _paper(spec: RunSpec) -> str:
    listed = find_method(spec.name)
    if listed is None or not listed.paper.title:
        return ""
    return f"({listed.page.short}{', arXiv ' + listed.paper.arxiv if listed.paper.arxiv else ''})"


def _help(*, requested: bool) -> int:
    text = (
        "usage: handaxe train METHOD [OPTIONS] [--base METHOD] [--world WORLD] [--engine ENGINE] [--out FOLDER]\n"
        "       METHOD, WORLD and ENGINE are names, or MODULE:ATTRIBUTE of your own\n"
        "       handaxe train RUN/recipe.json ... starts the run of this file again"
    )
    names = ", ".join(one.name for one in list_methods())
    if not requested:
        raise MethodError(f"the method is missing; there are {names}.\n{text}")
    more = "`handaxe train METHOD --help` lists the options of a method."
    console().print(f"{text}\n\nmethods: {names}\n{more}", markup=False)
    return 0
