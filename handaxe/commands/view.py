"""`handaxe view [FOLDER]`: the runs under a folder in a browser, live while they train."""

import sys
from dataclasses import dataclass
from pathlib import Path

import tyro

from handaxe.commands.show import decoder_of
from handaxe.view.web import serve_view

__all__ = ["ViewOptions", "main"]


@dataclass(frozen=True)
class ViewOptions:
    """Look at the runs under a folder in a browser, live while they train. It serves this machine only, and changes
    nothing.

    Args:
        folder: a run, or a folder of runs and of results.
        port: of localhost; 0 takes a free one.
    """

    folder: tyro.conf.Positional[Path] = Path("runs")
    port: int = 8080


def main(arguments: list[str]) -> int:
    """Serve until Ctrl-C; returns the exit code."""
    options = tyro.cli(ViewOptions, args=arguments, prog="handaxe view")

    def show(address: str) -> None:
        port = address.rstrip("/").rpartition(":")[2]
        sys.stderr.write(
            f"look at {address}, from elsewhere through ssh -L {port}:localhost:{port} ...; Ctrl-C ends it\n"
        )
        sys.stderr.flush()

    try:
        serve_view(options.folder, decoder_of, port=options.port, show=show)
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
    return 0
