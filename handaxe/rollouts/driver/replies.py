"""Validation of environment replies: plans get a well-formed reply for every result, exception or timeout.

Example:
    an answer with an InfrastructureError  ->  a reply with done and the ending infra_error

Idea: a failure of the infrastructure ends a rollout unscored, so that no reward of 0 comes from it.
"""

import json
from collections.abc import Mapping
from typing import Any, get_args

from handaxe.core.images import PLACEHOLDER, Image
from handaxe.core.records import Ending, Message, ToolReply
from handaxe.core.records import Status as Status_
from handaxe.core.requests import AuxRequest, EnvReply
from handaxe.rollouts.driver.executor import Answer

__all__ = ["make_reply"]

MOST = 4_000_000
"""Maximum characters of one text; a longer one is a fault, and tokenising it would be wasted."""

_STATUSES = frozenset(get_args(Status_))


def make_reply(answer: Answer) -> EnvReply:
    """Return the environment's reply; an infra_error for an exception or an invalid reply.

    A timeout arrives as an InfrastructureError of the executor. Invalid replies: another type, or one within it; a text
    that UTF-8 cannot encode, or of more than MOST characters; facts that are not JSON. Facts are copied, so later
    changes by the environment have no effect.
    """
    if answer.error is not None:
        return _died(f"{type(answer.error).__name__}: {_words(answer.error)}")
    reply, wrong = answer.value, _wrong(answer.value)
    if not wrong and reply.facts:
        facts, wrong = _copied(reply.facts)
        reply = reply._replace(facts=facts)
    return _died(f"the environment's reply cannot be used: {wrong}") if wrong else reply


def _wrong(reply: Any) -> str:
    if not isinstance(reply, EnvReply):
        return f"it is a {type(reply).__name__}, not an EnvReply"
    if not isinstance(reply.messages, tuple | list) or not isinstance(reply.replies, tuple | list):
        return "its messages and replies are not tuples"
    for message in reply.messages:
        if not isinstance(message, Message):
            return f"a message is a {type(message).__name__}"
        if wrong := _wrong_words(message):
            return f"a message {wrong}"
    for item in reply.replies:
        if not isinstance(item, ToolReply) or item.status not in _STATUSES:
            return f"a tool reply is a {type(item).__name__}, or has an invalid status"
        if wrong := _wrong_words(item):
            return f"a tool reply {wrong}"
    if reply.ending is not None and not isinstance(reply.ending, Ending):
        return f"its ending is a {type(reply.ending).__name__}"
    if reply.aux_request is not None and (wrong := _wrong_question(reply.aux_request)):
        return f"what it asks {wrong}"
    if not isinstance(reply.facts, Mapping):
        return f"its facts are a {type(reply.facts).__name__}, not a mapping"
    return ""


def _wrong_question(asked: Any) -> str:
    if not isinstance(asked, AuxRequest) or not asked.by or not isinstance(asked.by, str):
        return f"is a {type(asked).__name__}, or has no name"
    if not asked.messages or not all(isinstance(message, Message) for message in asked.messages):
        return "has no messages"
    return next((f"has a message that {w}" for m in asked.messages if (w := _wrong_words(m))), "")


def _copied(facts: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the facts as JSON types, and an error text."""
    try:
        text = json.dumps(dict(facts))
    except Exception as error:
        return {}, f"its facts are not JSON: {_words(error)}"
    return (json.loads(text), "") if len(text) <= MOST else ({}, f"its facts have {len(text)} characters")


def _wrong_words(said: Message | ToolReply) -> str:
    wrong = _wrong_text(said.content) or _wrong_text(said.name) or _wrong_text(said.call_id)
    if wrong or not said.images:
        return wrong
    if not isinstance(said.images, tuple) or not all(isinstance(image, Image) for image in said.images):
        return "has images that are no tuple of Image"
    count = said.content.count(PLACEHOLDER)
    return "" if count == len(said.images) else f"has {count} placeholders for {len(said.images)} images"


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
    """Message of an exception; "" if its `__str__` fails."""
    try:
        return str(error)[:2000].encode(errors="replace").decode()
    except Exception:
        return ""


def _died(reason: str) -> EnvReply:
    return EnvReply(done=True, ending=Ending("infra_error", reason))
