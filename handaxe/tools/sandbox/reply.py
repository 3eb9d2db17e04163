"""Text of a program's reply: printed output, then the value or error."""

__all__ = ["reply_text"]


def reply_text(printed: str, rest: str) -> str:
    """Join printed output and the rest on separate lines, without trailing newline of output alone.

    Example:
        reply_text("hi\\n", "42") is "hi\\n42", reply_text("hi", "42") too, and reply_text("hi\\n", "") is "hi".
    """
    if not rest:
        return printed.removesuffix("\n")
    return printed + ("" if not printed or printed.endswith("\n") else "\n") + rest
