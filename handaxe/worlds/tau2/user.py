"""The user of a conversation in tau2: what they see, what they can do, and what they say, by rule.

A user sees the scenario, what the agent told them and what their own tools replied; never the agent's calls and what
these replied. At a turn they either speak or call tools. Who decides that is a function of this view: the rule here, or
an engine that is asked with the very same messages.

    view      system: guidelines and scenario | user: the agent's words | assistant: the user's | tool: the phone's
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.records import Message, ParsedTurn, ToolCall, ToolSchema
from handaxe.worlds.tau2.phone import COMES, asked_for, is_solved, look_that_tells

__all__ = ["MANNERS", "Manner", "OUT_OF_SCOPE", "STOP", "TRANSFER", "User", "ended", "first_person", "manner", "rule"]

STOP = "###STOP###"
TRANSFER = "###TRANSFER###"
OUT_OF_SCOPE = "###OUT-OF-SCOPE###"
WORRIES = ("What? Say it again.", "Will that be safe?", "Sorry, what?")
OPENINGS = ("Okay. ", "I did. ", "Here: ")
PATIENCE = 4
"""Messages in a row that ask nothing the user could do or know, after which they give up."""


class Manner(NamedTuple):
    """How a user by rule behaves, as probabilities.

    balks: does not do at first what is asked, so that it must be asked again.
    chats: says more than what the phone replied.
    """

    balks: float
    chats: float


MANNERS: Mapping[str, Manner] = {
    "static": Manner(0.0, 0.0),
    "plain": Manner(0.1, 0.3),
    "easy": Manner(0.2, 0.6),
    "hard": Manner(0.5, 0.6),
}
"""By persona. The package's personas None, Easy and Hard are plain, easy and hard; static leaves nothing to chance."""


class User:
    """What the user has seen, said and done; `hear` and `act` change it, and a rule or an engine reads `view`.

    Args:
        prompt: the system message: guidelines and scenario.
        opening: what was said by the user before the agent's first turn.
        tools: what they can call.
        carry: carries one call out and returns what the phone replies.
    """

    def __init__(self, prompt: str, opening: str, tools: Sequence[ToolSchema], carry: Callable[[ToolCall], str]):
        self.tools, self.carry = tuple(tools), carry
        self.view: list[Message] = [Message("system", prompt), Message("assistant", opening)]

    def hear(self, text: str) -> None:
        """The agent said this."""
        self.view.append(Message("user", text))

    def act(self, turn: ParsedTurn) -> str | None:
        """Take a turn of the user: the text they said; None where they called tools, and are to speak on."""
        if not turn.calls:
            self.view.append(Message("assistant", turn.text))
            return turn.text
        self.view.append(Message("assistant", "", turn.calls))
        for call in turn.calls:
            self.view.append(Message("tool", self.carry(call), call_id=call.id, name=call.name))
        return None

    @property
    def acts(self) -> int:
        """How many turns of calls there were since the agent spoke."""
        return sum(bool(one.calls) for one in self.view[self._heard() :])

    def _heard(self) -> int:
        return max((n for n, one in enumerate(self.view) if one.role == "user"), default=0)


def ended(text: str) -> str:
    """The word in a user's text that ends the conversation, "" where there is none."""
    return next((word for word in (STOP, TRANSFER, OUT_OF_SCOPE) if word in text), "")


def manner(persona: str) -> Manner:
    """How a persona behaves. Raises InputError where there is no such one."""
    if persona not in MANNERS:
        raise InputError(f"there is no user {persona[:40]!r} in tau2: choose of {', '.join(MANNERS)}")
    return MANNERS[persona]


def rule(view: Sequence[Message], raw: Mapping[str, Any], manner: Manner, rng: random.Random) -> ParsedTurn:
    """What a user by rule does next. Nothing is said that is not in the scenario or in what the phone replied.

    With a phone (telecom): does the one device action that the agent named and says what the phone replied; after that
    looks, unseen, whether what they called for is solved, and then ends the conversation. Asked who or where they are,
    says what the scenario lets them know. Asked to do two things, asks for one.
    Without (retail, airline): agrees where something is to be confirmed, and says one more piece of the scenario
    whenever spoken to, until all is said; then ends the conversation.

    Args:
        view: what the user saw, see the module.
        raw: the task as the package has it.
        manner: how often they balk or chat.
        rng: what is drawn from.
    """
    heard = [one.content for one in view if one.role == "user"]
    text = heard[-1] if heard else ""
    if COMES.search(text):
        return ParsedTurn(TRANSFER)
    if str(raw["id"]).startswith("["):
        return _with_phone(view, text, heard, raw, manner, rng)
    return _without_phone(view, text, raw)


def _with_phone(
    view: Sequence[Message],
    text: str,
    heard: Sequence[str],
    raw: Mapping[str, Any],
    manner: Manner,
    rng: random.Random,
) -> ParsedTurn:
    replies = _replies(view)
    look = look_that_tells(str(raw["id"]))
    if replies:
        if look not in [one.name for one in replies]:
            return _call(look, {}, len(view))
        found = next(one.content for one in replies if one.name == look)
        if is_solved(look, found):
            return ParsedTurn(f"It works now, thank you. {STOP}")
        return ParsedTurn(_opening(manner, rng) + replies[0].content)
    asked = asked_for(text)
    if len(asked) > 1:
        return ParsedTurn("I can do only one thing at a time. Which one first?")
    if asked:
        balked = view[-2].content in WORRIES
        if not balked and rng.random() < manner.balks:
            return ParsedTurn(rng.choice(WORRIES))
        return _call(asked[0].tool, asked[0].arguments, len(view))
    if re.search(r"\b(name|phone number|who|where|abroad|location|travel\w*)\b", text.lower()):
        return ParsedTurn(first_person(str(raw["user_scenario"]["instructions"]["known_info"])))
    if len(heard) >= PATIENCE and not any(asked_for(one) for one in heard[-PATIENCE:]):
        return ParsedTurn(OUT_OF_SCOPE)
    return _call(look, {}, len(view))


def _without_phone(view: Sequence[Message], text: str, raw: Mapping[str, Any]) -> ParsedTurn:
    said = " ".join(one.content for one in view if one.role == "assistant")
    told = raw["user_scenario"]["instructions"]
    pieces = [first_person(str(told[key])) for key in ("known_info", "unknown_info", "task_instructions") if told[key]]
    left = [piece for piece in pieces if piece not in said]
    if "?" in text and re.search(r"\b(yes|no|confirm|proceed|agree|correct)\b", text.lower()):
        return ParsedTurn("Yes.")
    if left:
        return ParsedTurn(left[0])
    return ParsedTurn(f"I have told you all I know. {OUT_OF_SCOPE}" if "?" in text else STOP)


def _replies(view: Sequence[Message]) -> list[Message]:
    """What the phone replied since somebody last spoke."""
    found: list[Message] = []
    for one in reversed(view):
        if one.role == "tool":
            found.append(one)
        elif not one.calls:
            break
    return found[::-1]


def _opening(manner: Manner, rng: random.Random) -> str:
    return rng.choice(OPENINGS) if rng.random() < manner.chats else ""


def _call(name: str, arguments: Mapping[str, Any], number: int) -> ParsedTurn:
    return ParsedTurn("", (ToolCall(name, dict(arguments), f"u{number}"),), raw=json.dumps(dict(arguments)))


def first_person(text: str) -> str:
    """What a scenario says of its reader, as the reader says it.

    Example:
        first_person("You are Ann, and your zip is 1.") is "I am Ann, and my zip is 1."
    """
    for pattern, other in SWAPS:
        text = re.sub(pattern, other, text)
    return text.strip()


SWAPS = (
    (r"\b[Yy]ou are\b", "I am"),
    (r"\b[Yy]ou're\b", "I am"),
    (r"\b[Yy]ou were\b", "I was"),
    (r"\b[Yy]ourself\b", "myself"),
    (r"\b[Yy]ours\b", "mine"),
    (r"\bYour\b", "My"),
    (r"\byour\b", "my"),
    (r"\b[Yy]ou\b", "I"),
)
