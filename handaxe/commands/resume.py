"""`handaxe resume RUN [--steps N]`: go on with a run after its last checkpoint, or make a finished one longer."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from handaxe.commands.train import RunOptions, Service, train_chosen
from handaxe.methods.started import started

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
    made = started(options.run, changes={} if options.steps is None else {"steps": options.steps})
    where = RunOptions(out=options.run, log=options.log, json=options.json, quiet=options.quiet)
    return train_chosen(made.chosen, where, command=made.command, resume=True)
