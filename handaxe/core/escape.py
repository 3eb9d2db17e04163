"""Makes untrusted text safe to print: what a tool or a policy wrote may hold escape codes, and is shown, not obeyed."""

import unicodedata

__all__ = ["UNSAFE", "escape"]

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
    return "".join(
        char.encode("unicode_escape").decode("ascii")
        if char not in keep and unicodedata.category(char) in UNSAFE
        else char
        for char in text
    )
