"""A progress bar with the time left; on a log file one plain line a step; or nothing."""

import time
from collections.abc import Mapping

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

__all__ = ["Bar"]


class Bar:
    """Shows how far a run is.

    Args:
        total: steps in all; `done` of them are done.
        enabled: False shows nothing at all.
        title: what is counted.
        console: where to; None is stderr.
    """

    def __init__(
        self, total: int, *, done: int = 0, enabled: bool = True, title: str = "step", console: Console | None = None
    ):
        self._console = console or Console(stderr=True)
        self._lines = enabled and not self._console.is_terminal
        self._total = total
        self._first = done
        self._done = done
        self._start = time.monotonic()
        self._title = title
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=self._console,
            disable=not enabled or self._lines,
        )
        self._task = self._bar.add_task(title, total=total, completed=done, note="")

    def __enter__(self) -> "Bar":
        self._bar.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._bar.stop()

    def inside(self, phase: str, done: int, total: int) -> None:
        """Show how far a phase of the present step is."""
        self._bar.update(self._task, description=f"{self._title} ({phase} {done}/{total})")

    def step(self, metrics: Mapping[str, float], shown: tuple[str, ...]) -> None:
        """Count one step and show some of its metrics."""
        self._done += 1
        note = "  ".join(f"{name} {metrics[name]:.3g}" for name in shown if name in metrics)
        self._bar.update(self._task, advance=1, description=self._title, note=note)
        if self._lines:
            rate = (time.monotonic() - self._start) / (self._done - self._first)
            left = rate * (self._total - self._done)
            text = f"{self._title} {self._done}/{self._total}  {note}  {left:.0f} s left"
            self._console.print(text, markup=False, highlight=False)
