"""Makes a reply that a plan can rely on of whatever an environment did."""

from typing import Any, get_args

from handaxe.exchange import EnvReply
from handaxe.records import Ending, Message, ToolReply
from handaxe.records import Status as Status_
from handaxe.rollouts.driver.executor import Answer

__all__ = ["reply_of"]

MOST = 4_000_000
"""Characters of one text; more is no reply but a fault, and would be tokenised in vain."""

_STATUSES = frozenset(get_args(Status_))


def reply_of(answer: Answer) -> EnvReply:
    """The environment's reply, or an infra_error for an exception and for what is not a reply.

    Not a reply is: another type, or one within it; a text that UTF-8 cannot say, or of more than MOST characters.
    """
    if answer.error is not None:
        return _died(f"{type(answer.error).__name__}: {_words(answer.error)}")
    wrong = _wrong(answer.value)
    return _died(f"the environment's reply cannot be used: {wrong}") if wrong else answer.value


def _wrong(reply: Any) -> str:
    if not isinstance(reply, EnvReply):
        return f"it is a {type(reply).__name__}, not an EnvReply"
    if not isinstance(reply.messages, tuple | list) or not isinstance(reply.replies, tuple | list):
        return "its messages and replies are not tuples"
    for message in reply.messages:
        if not isinstance(message, Message):
            return f"a message is a {type(message).__name__}"
        if wrong := _wrong_text(message.content) or _wrong_text(message.name) or _wrong_text(message.call_id):
            return f"a message {wrong}"
    for item in reply.replies:
        if not isinstance(item, ToolReply) or item.status not in _STATUSES:
            return f"a tool reply is a {type(item).__name__} that is none"
        if wrong := _wrong_text(item.content) or _wrong_text(item.name) or _wrong_text(item.call_id):
            return f"a tool reply {wrong}"
    if reply.ending is not None and not isinstance(reply.ending, Ending):
        return f"its ending is a {type(reply.ending).__name__}"
    return ""


def _wrong_text(text: Any) -> str:
    if not isinstance(text, str):
        return f"holds a {type(text).__name__} where text belongs"
    if len(text) > MOST:
        return f"has {len(text)} characters"
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return "holds half a character"
    return ""


def _words(error: BaseException) -> str:
    """What an exception says; one whose `__str__` fails says nothing."""
    try:
        return str(error)[:2000].encode(errors="replace").decode()
    except Exception:
        return ""


def _died(reason: str) -> EnvReply:
    return EnvReply(done=True, ending=Ending("infra_error", reason))
