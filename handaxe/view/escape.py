"""Untrusted text for rich: what a tool or a policy wrote may hold escape codes, and is shown, not obeyed."""

import unicodedata

from rich.text import Text

from handaxe.core.escape import UNSAFE, escape

__all__ = ["add_untrusted", "plain", "shorten"]


def plain(text: object, *, style: str = "", room: int = 0) -> Text:
    """A rich Text of untrusted text: escaped, its square brackets no markup; cut in the middle to `room`, if given."""
    shown = escape(str(text))
    return Text(shorten(shown, room) if room else shown, style=style)


def add_untrusted(line: Text, text: str, *, style: str = "") -> None:
    """Append untrusted text to `line`; what had to be escaped stands out, and a newline is shown and then obeyed."""
    start = 0
    for place, char in enumerate(text):
        if unicodedata.category(char) in UNSAFE:
            line.append(text[start:place], style=style)
            line.append(escape(char), style=f"{style} reverse".strip())
            if char == "\n":
                line.append("\n")
            start = place + 1
    line.append(text[start:], style=style)


def shorten(text: str, room: int) -> str:
    """At most `room` characters, the middle left out and said so.

    Example:
        shorten("abcdefghijklmnopqrstuvwxyz0123456789abcdefgh", 40) -> "abcdefghi [.. 25 left out ..] 89abcdefgh"
    """
    if len(text) <= room:
        return text
    note = f" [.. {len(text)} left out ..] "
    kept = max(room - len(note), 0)
    note = f" [.. {len(text) - kept} left out ..] "
    head = kept // 2
    return (text[:head] + note + text[len(text) - (kept - head) :])[:room]
