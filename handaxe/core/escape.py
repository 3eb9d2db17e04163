"""Escape control characters in untrusted text of tools and policies, for safe printing."""

import unicodedata

__all__ = ["UNSAFE", "escape"]

UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories of characters that move the cursor, change colours, reverse reading order or are invisible."""


def escape(text: str, *, keep: str = "") -> str:
    """Escape every control, format and unassigned character, as in a Python string literal.

    Args:
        text: any text.
        keep: characters to leave unescaped, such as a newline.

    Example:
        escape("a\\x1b[31mb\\tc") -> the eleven characters a\\x1b[31mb\\tc, without control characters
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode("ascii")
        if char not in keep and unicodedata.category(char) in UNSAFE
        else char
        for char in text
    )
