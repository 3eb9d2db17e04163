"""Makes untrusted text safe to show. What a tool or a policy wrote may hold escape codes, and is shown, not obeyed."""

import unicodedata

from rich.text import Text

__all__ = ["add_untrusted", "escape", "plain", "shorten"]

UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories that move the cursor, change colours, reverse the reading order or cannot be seen."""


def escape(text: str, *, keep: str = "") -> str:
    """The text with every control, format and unassigned character written out as in a Python string.

    Args:
        text: anything.
        keep: characters left as they are, such as a newline.

    Example:
        escape("a\\x1b[31mb\\tc") -> the eleven characters a\\x1b[31mb\\tc, none of them a control character
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(char) if char not in keep and unicodedata.category(char) in UNSAFE else char for char in text)


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
            line.append(_shown(char), style=f"{style} reverse".strip())
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


def _shown(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
