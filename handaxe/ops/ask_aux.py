"""Request to an auxiliary policy, repeated after an empty reply."""

from collections.abc import Generator

from handaxe.core.records import ParsedTurn
from handaxe.core.requests import AuxRequest

__all__ = ["NoReply", "ask_aux"]

TRIES = 2
"""Requests for a reply that is empty."""


class NoReply(Exception):
    """An auxiliary policy gave an empty reply."""


def ask_aux(request: AuxRequest, *, calls: bool = False) -> Generator[AuxRequest, ParsedTurn, ParsedTurn]:
    """Ask an auxiliary policy, and once more after an empty reply.

    Args:
        request: of the reply.
        calls: a reply without text but with calls is not empty.

    Raises:
        NoReply: both replies are empty.

    Example:
        replies "" and "408" -> the turn with the text "408"
    """
    for _ in range(TRIES):
        said = yield request
        if said.text.strip() or (calls and said.calls):
            return said
    raise NoReply(f"{request.by!r} gave no reply")
