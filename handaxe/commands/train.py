"""`handaxe train METHOD [options]`: train with a method, record the run, and print the results."""

import importlib.util
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from handaxe.commands.configure import FLAT, Parsed, parse_train
from handaxe.commands.output import check_new_folder, check_writable, command_line, console, note, write_json
from handaxe.commands.run_outcome import print_claims, print_outcome, read_outcome, result_body
from handaxe.core.deferred import DeferredModule
from handaxe.core.errors import InputError, MethodError
from handaxe.methods.build import check_run
from handaxe.methods.catalog import find_method, list_methods
from handaxe.methods.config_file import dump_config
from handaxe.methods.hardware import THIS_PROCESS, Machines
from handaxe.methods.lookup import check_name, list_names
from handaxe.methods.run_folder import method_record
from handaxe.methods.run_spec import RunSpec
from handaxe.models.check_model_name import check_model_name
from handaxe.training.loop.config import RunConfig
from handaxe.training.loop.loggers import Logger, tensorboard, trackio, wandb

if TYPE_CHECKING:
    import handaxe.methods.run as runner
else:
    runner = DeferredModule("handaxe.methods.run")

__all__ = [
    "INTERRUPTED",
    "MODELS",
    "PrintOptions",
    "RunOptions",
    "Service",
    "check_services",
    "main",
    "make_loggers",
    "new_folder",
    "parse_method",
    "train_spec",
]

Service = Literal["tensorboard", "wandb", "trackio"]
INTERRUPTED = 130
MODELS = ("tiny", "tiny_vision", "small", "start", "smollm2")
"""Models in packages."""


@dataclass(frozen=True)
class RunOptions:
    """Output and machines of a run.

    Args:
        out: folder of the run; by default runs/METHOD-TIME.
        log: also log metrics to these services (extras of the same names).
        json: write the result to this file.
        quiet: show no progress.
        machines: processes that compute.
    """

    out: Path | None = None
    log: tuple[Service, ...] = ()
    json: Path | None = None
    quiet: bool = False
    machines: Annotated[Machines, FLAT] = THIS_PROCESS


@dataclass(frozen=True)
class PrintOptions:
    """Output instead of a run.

    Args:
        print_config: print every option of the run as a file for --config, and train nothing.
    """

    print_config: bool = False


def main(arguments: list[str]) -> int:
    """Train; returns the exit code."""
    if (found := parse_method(arguments)) is None:
        return _help(requested="-h" in arguments or "--help" in arguments)
    name, words = found
    kinds = {"run": RunOptions, "print": PrintOptions}
    spec, more = parse_train(name, words, prog=f"handaxe train {name}".strip(), also=kinds, check=_check)
    if more["print"].print_config:
        sys.stdout.write(dump_config(spec))
        return 0
    return train_spec(spec, more["run"], command=command_line(["train", *arguments]))


def parse_method(arguments: list[str]) -> tuple[str, list[str]] | None:
    """Split the words of `train` and `doctor` into method and options.

    A file in the place of the method is the file of --config.

    Args:
        arguments: words after the command.

    Returns:
        The method, "" for the method of a file, and the options; None without method and file.

    Raises:
        InputError: there is no such method.
    """
    if not arguments or arguments[0].startswith("-"):
        named = any(word.partition("=")[0] == "--config" for word in arguments)
        return ("", arguments) if named else None
    name, *words = arguments
    if name.endswith((".json", ".toml")):
        return "", ["--config", name, *words]
    if ":" not in name:
        check_name("methods", name)
    return name, words


def _check(parsed: Parsed) -> None:
    """Raise InputError for the faults that need no model and no torch."""
    options: RunOptions = parsed.also["run"]
    if parsed.also["print"].print_config:
        return
    if options.out is not None:
        check_new_folder(options.out)
    check_writable(options.json)
    check_services(options.log)
    options.machines.check()
    check_model_name(parsed.spec.settings.model, MODELS)
    check_run(parsed.spec, machines=options.machines)


def check_services(services: Sequence[Service]) -> None:
    """Raise InputError if a service is named twice, or its package is missing."""
    for name in services:
        if services.count(name) > 1:
            raise InputError(f"--log names {name} twice")
        if importlib.util.find_spec(name) is None:
            raise InputError(f"--log {name} needs a package: pip install 'handaxe[{name}]'")


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
        result = runner.run(spec, keep, machines=options.machines)
    except KeyboardInterrupt:
        _print_stopped(folder)
        return INTERRUPTED
    found = read_outcome(folder, stopped=result.stopped)
    print_outcome(found, terminal)
    if result.reason:
        note(terminal, "ended", f"after {len(found.metrics)} of {spec.settings.steps} steps: {result.reason}")
    if not result.stopped:
        print_claims(spec, terminal)
    seconds = time.monotonic() - start
    write_json(options.json, result_body(found, method=spec.name, arguments=saved, command=command, seconds=seconds))
    return INTERRUPTED if result.stopped else 0


def make_loggers(services: Sequence[Service], folder: Path, config: Mapping[str, Any]) -> tuple[Logger, ...]:
    """Make the loggers of services. Raises InputError if a package is missing."""
    return tuple(_make_logger(one, folder, config) for one in services)


def _make_logger(service: Service, folder: Path, config: Mapping[str, Any]) -> Logger:
    if service == "tensorboard":
        return tensorboard(folder / "tensorboard")
    return (wandb if service == "wandb" else trackio)("handaxe", name=folder.name, config=config)


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
        "                            [--curriculum CURRICULUM]\n"
        "       METHOD, WORLD, ENGINE and CURRICULUM are names, or MODULE:ATTRIBUTE of your own\n"
        "       handaxe train --config FILE [METHOD] [OPTIONS] takes options from a file: TOML, or RUN/recipe.json"
    )
    names = ", ".join(one.name for one in list_methods())
    if not requested:
        raise MethodError(f"the method is missing; there are {names}.\n{text}")
    more = "`handaxe train METHOD --help` lists the options of a method."
    curricula = ", ".join(list_names("curricula"))
    console().print(f"{text}\n\nmethods: {names}\ncurricula: {curricula}\n{more}", markup=False)
    return 0
