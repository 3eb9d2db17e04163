"""`handaxe quickstart`: train a tiny policy to use a calculator, and show a rollout."""

from dataclasses import dataclass
from pathlib import Path

from handaxe.commands import show, train
from handaxe.commands.configure import parse_train
from handaxe.commands.output import command_line, console, note

__all__ = ["QuickstartOptions", "main"]

METHOD = "quickstart"


@dataclass(frozen=True)
class QuickstartOptions:
    """Output of the run.

    Args:
        out: folder of the run; by default runs/quickstart-TIME.
        json: write the result to this file.
        quiet: show no progress.
    """

    out: Path | None = None
    json: Path | None = None
    quiet: bool = False


def main(arguments: list[str]) -> int:
    """Train the method `quickstart` and show a rollout; returns the exit code."""
    spec, more = parse_train(METHOD, arguments, prog="handaxe quickstart", also={"run": QuickstartOptions})
    quick: QuickstartOptions = more["run"]
    folder = quick.out or train.new_folder(Path("runs"), METHOD)
    options = train.RunOptions(out=folder, json=quick.json, quiet=quick.quiet)
    code = train.train_spec(spec, options, command=command_line([METHOD, *arguments]))
    if code == 0:
        terminal = console()
        terminal.print("\nA rollout of the last step; colours show the author of each token:", style="bold")
        show.print_rollout(folder, show.RolloutChoice(), terminal)
        note(terminal, "next", command_line(["methods"]))
    return code
