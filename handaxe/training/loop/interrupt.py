"""Ctrl-C that loses nothing: the first one lets the step at hand finish, the second one stops at once."""

import os
import signal
import threading
from types import FrameType

__all__ = ["Interrupt"]


class Interrupt:
    """While entered, the first SIGINT sets `asked` and says so on stderr; the second raises KeyboardInterrupt.

    One inside another tells the outer one when it ends. In a thread other than the main one, where signals cannot be
    caught, it does nothing.
    """

    def __init__(self) -> None:
        self.asked = False
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
            if isinstance(outer, Interrupt) and self.asked:
                outer.asked = True

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        # os.write, since a handler may interrupt a print that is half done
        os.write(2, b"\nstopping after this step; press Ctrl-C again to stop at once\n")
