"""`handaxe quickstart`: train a tiny policy to use a calculator, and look at what it learnt."""

from dataclasses import dataclass
from pathlib import Path

from handaxe.commands import show, train
from handaxe.commands.configure import parse_train
from handaxe.commands.output import command_line, console, note

__all__ = ["QuickstartOptions", "main"]

RECIPE = "quickstart"


@dataclass(frozen=True)
class QuickstartOptions:
    """Where the run goes.

    Args:
        out: folder of the run; runs/quickstart-TIME unless told otherwise.
        json: write the result to this file.
        quiet: show no progress.
    """

    out: Path | None = None
    json: Path | None = None
    quiet: bool = False


def main(arguments: list[str]) -> int:
    """Train the recipe `quickstart`, then show one of its attempts; returns the exit code."""
    chosen, more = parse_train(RECIPE, arguments, prog="handaxe quickstart", also={"run": QuickstartOptions})
    quick: QuickstartOptions = more["run"]
    folder = quick.out or train.new_folder(Path("runs"), RECIPE)
    options = train.RunOptions(out=folder, json=quick.json, quiet=quick.quiet)
    code = train.train_chosen(chosen, options, command=command_line([RECIPE, *arguments]))
    if code == 0:
        terminal = console()
        terminal.print("\nOne attempt of the last step, every token coloured by who wrote it:", style="bold")
        show.print_attempt(folder, show.Wanted(), terminal)
        note(terminal, "next", command_line(["recipes"]))
    return code
