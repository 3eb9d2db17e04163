"""`handaxe resume RUN [--steps N]`: go on with a run after its last checkpoint, or make a finished one longer."""

import time
from dataclasses import dataclass
from pathlib import Path

import tyro

from handaxe.commands.configure import to_json
from handaxe.commands.output import check_writable, console, note, write_json
from handaxe.commands.report import print_outcome, read_outcome, result_body
from handaxe.commands.started import started
from handaxe.commands.train import INTERRUPTED, Service, make_loggers
from handaxe.errors import InputError
from handaxe.training.loop import train
from handaxe.training.pace import Keep

__all__ = ["ResumeOptions", "main"]


@dataclass(frozen=True)
class ResumeOptions:
    """Go on with a run after its last checkpoint, with the arguments it was started with.

    Args:
        run: folder of the run.
        steps: steps in all, where other than before.
        log: also log metrics there (extra of the same name).
        json: write the result to this file.
        quiet: show no progress.
    """

    run: tyro.conf.Positional[Path]
    steps: int | None = None
    log: Service | None = None
    json: Path | None = None
    quiet: bool = False


def main(arguments: list[str]) -> int:
    """Resume; returns the exit code."""
    options = tyro.cli(ResumeOptions, args=arguments, prog="handaxe resume")
    check_writable(options.json)
    run = started(options.run)
    chosen = dict(run.arguments)
    if options.steps is not None:
        if "steps" not in chosen:
            raise InputError(f"recipe {run.recipe.name} takes no argument steps")
        chosen["steps"] = options.steps
    saved, terminal = to_json(run.recipe, chosen), console()
    if not options.quiet:
        note(terminal, "resume", f"{run.recipe.name} in {options.run}")
    start = time.monotonic()
    loggers = make_loggers(options.log, options.run, saved)
    about = {"name": run.recipe.name, "arguments": saved, "command": run.command}
    kwargs = run.recipe.build(**chosen)
    keep = Keep(out=options.run, resume=True, loggers=loggers, progress=not options.quiet, recipe=about)
    result = train(**kwargs, keep=keep)
    found = read_outcome(options.run, stopped=result.stopped)
    print_outcome(found, terminal)
    seconds = time.monotonic() - start
    body = result_body(found, recipe=run.recipe.name, arguments=saved, command=run.command, seconds=seconds)
    write_json(options.json, body)
    return INTERRUPTED if result.stopped else 0
