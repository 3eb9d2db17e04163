"""What a policy reads of a program: what it printed, then the rest."""

__all__ = ["reply_text"]


def reply_text(printed: str, rest: str) -> str:
    """The two after each other, on lines of their own; no newline at the end of what was merely printed.

    Example:
        reply_text("hi\\n", "42") is "hi\\n42", reply_text("hi", "42") too, and reply_text("hi\\n", "") is "hi".
    """
    if not rest:
        return printed.removesuffix("\n")
    return printed + ("" if not printed or printed.endswith("\n") else "\n") + rest
