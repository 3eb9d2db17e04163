"""What the sections of bench/README.md share: tables, medians with their spread, verdicts, plots."""

import statistics
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

matplotlib.use("Agg")
FOLDER = Path(__file__).parents[1]
OURS = "#2b6cb0"
THEIRS = "#c05621"
LIMIT = "#718096"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def spread(values: list[float], digits: int = 2) -> str:
    """median [least, most], or the one value there is."""
    middle = f"{statistics.median(values):.{digits}f}"
    return middle if len(values) < 2 else f"{middle} [{min(values):.{digits}f}, {max(values):.{digits}f}]"


def verdict(*reached: bool) -> str:
    """What became of a goal, by every setting it speaks of."""
    if not reached:
        return "not measured"
    return "reached" if all(reached) else "**missed**"


def save(figure: Figure, name: str) -> None:
    """Write a plot beside the page."""
    figure.savefig(FOLDER / name, dpi=110)
    plt.close(figure)
