"""`handaxe view [FOLDER]`: show the runs of a folder in a browser, live during training."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from handaxe.core.deferred import DeferredModule
from handaxe.view.web import serve_view

if TYPE_CHECKING:
    import handaxe.commands.decoder as decoder
else:
    decoder = DeferredModule("handaxe.commands.decoder")

__all__ = ["ViewOptions", "main"]


@dataclass(frozen=True)
class ViewOptions:
    """Show the runs of a folder in a browser, live during training. Serves this machine only, and is read-only.

    Args:
        folder: a run, or a folder of runs and results.
        port: of localhost; 0 chooses a free port.
    """

    folder: tyro.conf.Positional[Path] = Path("runs")
    port: int = 8080


def main(arguments: list[str]) -> int:
    """Serve until Ctrl-C; returns the exit code."""
    options = tyro.cli(ViewOptions, args=arguments, prog="handaxe view")

    def show(address: str) -> None:
        port = address.rstrip("/").rpartition(":")[2]
        sys.stderr.write(
            f"open {address}; from another machine, use ssh -L {port}:localhost:{port} ...; Ctrl-C stops the server\n"
        )
        sys.stderr.flush()

    try:
        serve_view(options.folder, lambda run: decoder.make_decoder(run), port=options.port, show=show)
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
    return 0
