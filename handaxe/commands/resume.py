"""`handaxe resume RUN [--steps N]`: go on with a run after its last checkpoint, or make a finished one longer."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from handaxe.commands.configure import FLAT
from handaxe.commands.outcome import read_outcome, result_body
from handaxe.commands.output import check_writable, command_line, console, note, write_json
from handaxe.commands.train import RunOptions, Service, train_chosen
from handaxe.methods.hardware import HERE, Machines
from handaxe.methods.run_folder import RecordedRun, recorded_run
from handaxe.models.saved import checkpoints_in, verify

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
        machines: where it computes, be it another place than before.
    """

    run: tyro.conf.Positional[Path]
    steps: int | None = None
    log: Service | None = None
    json: Path | None = None
    quiet: bool = False
    machines: Annotated[Machines, FLAT] = HERE


def main(arguments: list[str]) -> int:
    """Resume; returns the exit code."""
    options = tyro.cli(ResumeOptions, args=arguments, prog="handaxe resume")
    made = recorded_run(options.run, changes={} if options.steps is None else {"steps": options.steps})
    check_writable(options.json)
    if (done := _done(options.run)) >= made.spec.settings.steps:
        return _say_done(options, made, done)
    where = RunOptions(
        out=options.run, log=options.log, json=options.json, quiet=options.quiet, machines=options.machines
    )
    return train_chosen(made.spec, where, command=made.command, resume=True)


def _done(folder: Path) -> int:
    """Steps that are done for good, -1 without a checkpoint. Raises CheckpointError when the last is damaged."""
    found = checkpoints_in(folder / "checkpoints")
    if not found:
        return -1
    verify(found[-1].path)
    return found[-1].steps


def _say_done(options: ResumeOptions, made: RecordedRun, done: int) -> int:
    """There is nothing to do."""
    more = command_line(["resume", str(options.run), "--steps", str(2 * max(done, 1))])
    note(console(), "nothing", f"was done: all {done} steps of {options.run} were; `{more}` makes it longer")
    body = result_body(
        read_outcome(options.run),
        recipe=made.spec.name,
        arguments=made.spec.arguments(),
        command=made.command,
        seconds=0.0,
    )
    write_json(options.json, body)
    return 0
