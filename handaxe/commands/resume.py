"""`handaxe resume RUN [--steps N]`: continue a run from the last checkpoint, or extend a finished run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from handaxe.commands.configure import FLAT
from handaxe.commands.output import check_writable, command_line, console, note, write_json
from handaxe.commands.run_outcome import read_outcome, result_body
from handaxe.commands.train import RunOptions, Service, train_spec
from handaxe.methods.hardware import THIS_PROCESS, Machines
from handaxe.methods.run_folder import RecordedRun, recorded_run
from handaxe.models.saved_policy import list_checkpoints, verify_checkpoint

__all__ = ["ResumeOptions", "main"]


@dataclass(frozen=True)
class ResumeOptions:
    """Continue a run from the last checkpoint, with the arguments of the run.

    Args:
        run: folder of the run.
        steps: total number of steps; by default as before.
        log: also log metrics to these services (extras of the same names).
        json: write the result to this file.
        quiet: show no progress.
        machines: processes that compute; may differ from before.
    """

    run: tyro.conf.Positional[Path]
    steps: int | None = None
    log: tuple[Service, ...] = ()
    json: Path | None = None
    quiet: bool = False
    machines: Annotated[Machines, FLAT] = THIS_PROCESS


def main(arguments: list[str]) -> int:
    """Resume; returns the exit code."""
    options = tyro.cli(ResumeOptions, args=arguments, prog="handaxe resume")
    recorded = recorded_run(options.run, changes={} if options.steps is None else {"steps": options.steps})
    check_writable(options.json)
    if (done := _steps_done(options.run)) >= recorded.spec.settings.steps:
        return _print_done(options, recorded, done)
    output = RunOptions(
        out=options.run, log=options.log, json=options.json, quiet=options.quiet, machines=options.machines
    )
    return train_spec(recorded.spec, output, command=recorded.command, resume=True)


def _steps_done(folder: Path) -> int:
    """Steps of the last checkpoint, -1 without a checkpoint. Raises CheckpointError for a damaged checkpoint."""
    found = list_checkpoints(folder / "checkpoints")
    if not found:
        return -1
    verify_checkpoint(found[-1].path)
    return found[-1].steps


def _print_done(options: ResumeOptions, recorded: RecordedRun, done: int) -> int:
    more = command_line(["resume", str(options.run), "--steps", str(2 * max(done, 1))])
    note(console(), "finished", f"all {done} steps of {options.run} are done; `{more}` extends the run")
    body = result_body(
        read_outcome(options.run),
        method=recorded.spec.name,
        arguments=recorded.spec.arguments(),
        command=recorded.command,
        seconds=0.0,
    )
    write_json(options.json, body)
    return 0
