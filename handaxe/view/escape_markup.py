"""Escapes untrusted text of tools and policies for rich: control sequences and markup have no effect."""

import unicodedata

from rich.text import Text

from handaxe.core.escape import UNSAFE, escape

__all__ = ["add_untrusted", "escaped_text", "shorten"]


def escaped_text(text: object, *, style: str = "", max_chars: int = 0) -> Text:
    """Make a rich Text of untrusted text, without markup; longer text than `max_chars` > 0 is cut in the middle."""
    shown = escape(str(text))
    return Text(shorten(shown, max_chars) if max_chars else shown, style=style)


def add_untrusted(line: Text, text: str, *, style: str = "") -> None:
    """Append untrusted text to `line`. Escaped characters are highlighted; a newline is shown and breaks the line."""
    start = 0
    for place, char in enumerate(text):
        if unicodedata.category(char) in UNSAFE:
            line.append(text[start:place], style=style)
            line.append(escape(char), style=f"{style} reverse".strip())
            if char == "\n":
                line.append("\n")
            start = place + 1
    line.append(text[start:], style=style)


def shorten(text: str, max_chars: int) -> str:
    """Cut the middle out of text longer than `max_chars`, and insert a mark.

    Example:
        shorten("abcdefghijklmnopqrstuvwxyz0123456789abcdefgh", 40) -> "abcdefghi [.. 25 left out ..] 89abcdefgh"
    """
    if len(text) <= max_chars:
        return text
    note = f" [.. {len(text)} left out ..] "
    kept = max(max_chars - len(note), 0)
    note = f" [.. {len(text) - kept} left out ..] "
    head = kept // 2
    return (text[:head] + note + text[len(text) - (kept - head) :])[:max_chars]
