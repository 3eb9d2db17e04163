"""`handaxe report RUN`: the pages of `handaxe view` as one HTML file, which opens from a disk without a network."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from handaxe.commands.output import console, note
from handaxe.commands.show import decoder_of
from handaxe.core.errors import InputError
from handaxe.core.escape import escape
from handaxe.view.report_file import write_report

__all__ = ["ReportOptions", "main"]


@dataclass(frozen=True)
class ReportOptions:
    """Write what `handaxe view` shows of a run as one HTML file. It opens from a disk, and asks no network.

    All figures and the table of all attempts are in it. Where the attempts of all steps would be more than
    `megabytes`, those of some steps are, and the file says which.

    Args:
        run: a run, or a folder of runs.
        out: the file; NAME-OF-THE-RUN.html in the current folder unless told otherwise.
        megabytes: room for attempts, compressed; the rest of the file takes about 7 more.
    """

    run: tyro.conf.Positional[Path]
    out: Path | None = None
    megabytes: float = 20.0


def main(arguments: list[str]) -> int:
    """Write the report; returns the exit code."""
    options = tyro.cli(ReportOptions, args=arguments, prog="handaxe report")
    if not options.megabytes >= 0:
        raise InputError(f"--megabytes is {options.megabytes}; give 0 or more")
    file = options.out or Path(f"{options.run.resolve().name or 'report'}.html")
    held = write_report(options.run, file, decoder_of, megabytes=options.megabytes)
    terminal = console()
    note(terminal, "report", f"{file} ({file.stat().st_size / 1e6:.1f} MB)")
    for name, one in held.items():
        note(terminal, "holds", f"{escape(name)}: {one}")
    return 0
