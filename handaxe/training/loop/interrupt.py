"""Ctrl-C without loss: the first lets the current step finish, the second stops at once."""

import os
import signal
import threading
from types import FrameType

__all__ = ["Interrupt"]


class Interrupt:
    """Context in which the first SIGINT sets `requested` and prints a line; the second raises KeyboardInterrupt.

    A nested context passes the request on to the outer one at its end. Outside the main thread, where signals cannot be
    caught, it does nothing.
    """

    def __init__(self) -> None:
        self.requested = False
        self._before: object = None
        self._armed = False

    def __enter__(self) -> "Interrupt":
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._handle)
            self._armed = True
        return self

    def __exit__(self, *exc: object) -> None:
        if self._armed:
            signal.signal(signal.SIGINT, self._before)  # type: ignore[arg-type]
            self._armed = False
            outer = getattr(self._before, "__self__", None)
            if isinstance(outer, Interrupt) and self.requested:
                outer.requested = True

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        # os.write, since a handler may interrupt an unfinished print
        os.write(2, b"\nstopping after this step; press Ctrl-C again to stop at once\n")
