"""`handaxe report RUN`: write the pages of `handaxe view` as one HTML file for offline use."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from handaxe.commands.output import console, note
from handaxe.core.deferred import DeferredModule
from handaxe.core.errors import InputError
from handaxe.core.escape import escape
from handaxe.view.report_file import write_report

if TYPE_CHECKING:
    import handaxe.commands.decoder as decoder
else:
    decoder = DeferredModule("handaxe.commands.decoder")

__all__ = ["ReportOptions", "main"]


@dataclass(frozen=True)
class ReportOptions:
    """Write the pages of `handaxe view` as one HTML file, which needs no server and no network.

    The file has all metrics and the table of all rollouts. If the rollouts of all steps exceed `megabytes`, the file
    has the rollouts of some steps in full, and lists these steps.

    Args:
        run: a run, or a folder of runs.
        out: the file; by default NAME-OF-THE-RUN.html in the current folder.
        megabytes: limit for rollouts, compressed; the rest of the file takes about 7 MB.
        image_megabytes: limit for the images of these rollouts, smallest first; other images are grey boxes.
    """

    run: tyro.conf.Positional[Path]
    out: Path | None = None
    megabytes: float = 20.0
    image_megabytes: float = 8.0


def main(arguments: list[str]) -> int:
    """Write the report; returns the exit code."""
    options = tyro.cli(ReportOptions, args=arguments, prog="handaxe report")
    for name in ("megabytes", "image_megabytes"):
        if not getattr(options, name) >= 0:
            raise InputError(f"--{name.replace('_', '-')} is {getattr(options, name)}; give 0 or more")
    file = options.out or Path(f"{options.run.resolve().name or 'report'}.html")
    held = write_report(
        options.run,
        file,
        lambda run: decoder.make_decoder(run),
        megabytes=options.megabytes,
        image_megabytes=options.image_megabytes,
    )
    terminal = console()
    note(terminal, "report", f"{file} ({file.stat().st_size / 1e6:.1f} MB)")
    for name, one in held.items():
        note(terminal, "content", f"{escape(name)}: {one}")
    return 0
