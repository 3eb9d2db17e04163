"""Progress display: one updating line on a terminal, occasional lines in a log file.

step 12/30  3:05 left  reward 0.656  calls 1.20  sampling 34/96
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.text import Text

from handaxe.core.escape import escape

__all__ = ["Bar", "clock_time", "fitted", "is_live", "ticking"]

EVERY = 10.0
"""Minimum seconds between two lines of a log file."""
LINE = 120
"""Maximum characters of a line of a log file."""
PER_SECOND = 4


def fitted(pieces: Iterable[str], width: int) -> str:
    """Join leading pieces within `width` characters; only the first may be cut.

    Example:
        fitted(["step 2/9", "0:14 left", "reward 0.656"], 30) -> "step 2/9  0:14 left"
    """
    line = ""
    for piece in filter(None, pieces):
        longer = f"{line}  {piece}" if line else piece[:width]
        if len(longer) > width:
            break
        line = longer
    return line


def clock_time(seconds: float) -> str:
    """Format seconds as a clock time.

    Example:
        clock_time(65) -> "1:05"; clock_time(7384) -> "2:03:04"
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def is_live(console: Console) -> bool:
    """True if the console can redraw a line; False for files, even with forced colours."""
    return console.is_interactive and console.file.isatty()


EARLY = 0.03
"""Share of the steps before the remaining time is shown; earlier estimates are unreliable with concurrent work."""


_OPEN: list[Bar] = []
"""Open displays, the innermost last; only the innermost is shown."""


class Bar:
    """Progress display of a run.

    An inner display hides the outer display until the inner one is closed.

    Args:
        total: total number of steps; `done` of them are done. None shows title and time alone, and leaves nothing on a
            terminal.
        enabled: False shows only the lines of `say`.
        title: name of the counted unit.
        console: output; None is stderr.
        clock: monotonic clock in seconds.
    """

    def __init__(
        self,
        total: int | None,
        *,
        done: int = 0,
        enabled: bool = True,
        title: str = "step",
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._console = console or Console(stderr=True)
        self._clock = clock
        live = enabled and is_live(self._console)
        self._lines = enabled and not live
        self._total, self._done = total, done
        self._title = title
        self._phase, self._notes = "", tuple[str, ...]()
        self._under = tuple[str, ...]()
        self._told: float | None = None
        self._live = live
        self.begin()
        self._drawn = Live(
            console=self._console, get_renderable=self._render, refresh_per_second=PER_SECOND, transient=total is None
        )

    def __enter__(self) -> Bar:
        if self._live or self._lines:
            if _OPEN:
                _OPEN[-1]._drawn.stop()
            _OPEN.append(self)
        if self._live:
            self._drawn.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._phase, self._under = "", ()
        if self._live:
            self._drawn.stop()
        if self in _OPEN:
            _OPEN.remove(self)
        if _OPEN and _OPEN[-1]._live:
            _OPEN[-1]._drawn.start()

    def begin(self) -> None:
        """Start the clock of the steps: the remaining time is estimated from step durations, without setup."""
        self._start, self._first = self._clock(), self._done
        self._reached = self._start  # time of the last step

    def inside(self, phase: str, done: int, total: int) -> None:
        """Show the progress of a phase within the current step."""
        self._phase = f"{phase} {done}/{total}"
        self._tell()

    def tick(self) -> None:
        """Print a line of a log file if one is due, and no display is open within this one."""
        if _OPEN and _OPEN[-1] is self:
            self._tell()

    def step(self, notes: Sequence[str] = ()) -> None:
        """Count one step and show its notes, the most important first."""
        self.reach(self._done + 1, notes)

    def reach(self, done: int, notes: Sequence[str] = (), *, under: Sequence[str] = ()) -> None:
        """Show that `done` steps are done, with notes.

        Args:
            done: total number of steps done.
            notes: the most important first.
            under: current activities: one line each on a terminal; in a log file they follow the notes.
        """
        always = done != self._done and done in (self._first + 1, self._total)
        if done != self._done:
            self._reached = self._clock()
        self._done, self._phase = done, ""
        self._notes, self._under = tuple(notes), tuple(under)
        self._tell(always=always)

    def say(self, text: str) -> None:
        """Print a separate line, even without progress display; control characters are escaped."""
        self._console.print(Text(escape(text)), highlight=False, soft_wrap=not self._live)

    def _tell(self, *, always: bool = False) -> None:
        """Print a line of a log file, if one is due."""
        now = self._clock()
        if self._lines and (always or now - (self._start if self._told is None else self._told) >= EVERY):
            self._told = now
            self._console.print(Text(fitted([self._text(LINE), *self._under], LINE)), soft_wrap=True)

    def _render(self) -> Text:
        width = self._console.width - 1
        under = (f"  {_cut(line, width - 2)}" for line in self._under)
        return Text("\n".join([self._text(width), *under]), no_wrap=True)

    def _text(self, width: int) -> str:
        """Step and time first, then the notes that fit, then the phase."""
        title = self._title if self._total is None else f"{self._title} {self._done}/{self._total}"
        head = fitted([title, self._time()], width)
        ending = f"  {self._phase}" if self._phase and len(head) + 2 + len(self._phase) <= width else ""
        return fitted([head, *self._notes], width - len(ending)) + ending

    def _time(self) -> str:
        now, steps = self._clock(), self._done - self._first
        if self._total is None:
            return f"{clock_time(now - self._start)} so far"
        if self._done >= self._total:
            return f"in {clock_time(now - self._start)}"
        if steps <= 0 or steps < EARLY * (self._total - self._first):
            return f"{clock_time(now - self._start)} so far"
        each = (self._reached - self._start) / steps
        left = each * (self._total - self._done) - min(each, now - self._reached)
        return f"{clock_time(left)} left"


@contextmanager
def ticking(bar: Bar, *, seconds: float = 1.0) -> Iterator[None]:
    """Let a display tell the time in a log file while other code computes.

    Args:
        bar: an open display.
        seconds: between two ticks.

    Example:
        with Bar(None, title="study") as bar, ticking(bar): a line "study  0:10 so far" every ten seconds
    """
    ended = threading.Event()

    def tick() -> None:
        while not ended.wait(seconds):
            bar.tick()

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _cut(line: str, width: int) -> str:
    """Cut the beginning of an overlong line: its end changes."""
    return line if len(line) <= width else f"..{line[2 - width :]}" if width > 2 else ""
